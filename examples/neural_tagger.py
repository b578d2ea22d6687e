"""A tagger of words and their letters: two LSTMs, and a CRF from `partita.torch`.

    python examples/neural_tagger.py FOLDER                      all sentences have tags
    python examples/neural_tagger.py FOLDER --labelled 100 --entropy 0.1
                                                                 100 have, and the rest is text

FOLDER has a treebank's files, named *-train.conllu and *-dev.conllu; without it, ud_en_ewt below
$PARTITA_DATA is read.
"""

import argparse
import collections
import itertools
import os
import random
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from partita.data import read_conllu
from partita.torch.nn import CRF, SharedDropout

PADDING, UNKNOWN, LONGEST_WORD, BORDER = 0, 1, 20, " "


class Vocabulary(dict):
    """Numbers of the values that occur often enough; 0 is padding and 1 is all others."""

    def __init__(self, values, min_count=1):
        self.counts = collections.Counter(values)
        frequent = sorted(value for value, n in self.counts.items() if n >= min_count)
        super().__init__({value: number for number, value in enumerate(frequent, start=2)})

    def __missing__(self, value):
        return UNKNOWN


class Letters(nn.Module):
    """A vector for each word from its letters: what each filter finds anywhere in the word."""

    def __init__(self, n_letters, n_units):
        super().__init__()
        self.embeddings = nn.Embedding(n_letters, 32, padding_idx=PADDING)
        self.filters = nn.ModuleList(nn.Conv1d(32, n_units // 2, width) for width in (3, 5))

    def forward(self, letters):
        vectors = self.embeddings(letters).transpose(1, 2)
        return torch.cat([filters(vectors).amax(dim=2) for filters in self.filters], dim=1)


class Tagger(nn.Module):
    def __init__(self, words, letters, tags, fine_tags, n_units=128, dropout=0.33):
        super().__init__()
        self.words, self.letters, self.tags, self.fine_tags = words, letters, tags, fine_tags
        self.word_embeddings = nn.Embedding(len(words) + 2, 100, padding_idx=PADDING)
        self.spelling = Letters(len(letters) + 2, 128)
        self.lstms = nn.ModuleList(
            nn.LSTM(size, n_units, batch_first=True, bidirectional=True)
            for size in (228, 2 * n_units)
        )
        self.scores = nn.Linear(2 * n_units, len(tags))
        self.crf = CRF(len(tags), batch_first=True)
        # A second task for the same vectors, which makes them better for the first.
        self.fine_scores = nn.Linear(2 * n_units, len(fine_tags) + 2)
        self.dropout = SharedDropout(dropout)

    def forward(self, sentences):
        """Sentences -> a vector for each word, and a mask of the words."""
        rows = [s.column("FORM") for s in sentences]
        forms = list(dict.fromkeys(form for row in rows for form in row))
        number = {form: index for index, form in enumerate(forms)}
        spelling = self.spelling(padded([self.letters[c] for c in bordered(w)] for w in forms))
        spelling = spelling[padded([number[form] for form in row] for row in rows)]
        embeddings = self.word_embeddings(padded([self.word(form) for form in row] for row in rows))
        vectors = torch.cat([embeddings, spelling], dim=2)
        n_words = torch.tensor([len(row) for row in rows])
        for lstm in self.lstms:
            packed = pack_padded_sequence(self.dropout(vectors), n_words, True, False)
            vectors, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
        mask = torch.arange(vectors.shape[1]) < n_words[:, None]
        return self.dropout(vectors), mask

    def word(self, form):
        """The number of a word; in training a rare one is now and then not known."""
        form = form.lower()
        if self.training and random.random() < 0.25 / (0.25 + self.words.counts[form]):
            return UNKNOWN
        return self.words[form]

    def loss(self, sentences):
        vectors, mask = self(sentences)
        tags, fine_tags = (
            padded([numbers[tag] for tag in s.column(name)] for s in sentences)
            for name, numbers in (("UPOS", self.tags), ("XPOS", self.fine_tags))
        )
        fine_loss = nn.functional.cross_entropy(self.fine_scores(vectors[mask]), fine_tags[mask])
        return 0.5 * fine_loss - self.crf(self.scores(vectors), tags, mask, "token_mean")

    def entropy(self, sentences):
        """Mean entropy of the tags of a word, over all tag sequences."""
        vectors, mask = self(sentences)
        return self.crf.distribution(self.scores(vectors), mask).entropy.sum() / mask.sum()

    @torch.no_grad()
    def accuracy(self, sentences):
        """The share of words that get the right tag."""
        self.eval()
        names, right = list(self.tags), 0
        for batch in batches(sentences, 4000):
            vectors, mask = self(batch)
            best = self.crf.decode(self.scores(vectors), mask)
            for sentence, found in zip(batch, best, strict=True):
                tags = sentence.column("UPOS")
                right += sum(tag == names[n] for tag, n in zip(tags, found, strict=True))
        return right / sum(map(len, sentences))


def bordered(form):
    """A word's letters, with signs where it begins and ends; of a long one the first and last."""
    if len(form) > LONGEST_WORD:
        form = form[: LONGEST_WORD // 2] + form[-LONGEST_WORD // 2 :]
    return f"{BORDER * 2}{form}{BORDER * 2}"


def padded(rows):
    """Lists of numbers as the rows of a tensor."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True)


def batches(sentences, n_words, rng=None):
    """Sentences of about the same length, `n_words` words at a time."""
    ordered = sorted(sentences, key=lambda s: len(s) + (2 * rng.random() if rng else 0))
    ends = zip(ordered, itertools.accumulate(map(len, ordered)), strict=True)
    groups = itertools.groupby(ends, key=lambda pair: pair[1] // n_words)
    found = [[sentence for sentence, _ in group] for _, group in groups]
    return rng.sample(found, len(found)) if rng else found


def train(tagger, labelled, unlabelled, dev, options):
    optimiser = torch.optim.AdamW(tagger.parameters(), lr=options.rate, weight_decay=1e-4)
    rng, start = random.Random(options.seed), time.process_time()
    n_steps = options.epochs * len(batches(labelled, options.batch))
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, n_steps)
    for epoch in range(1, options.epochs + 1):
        tagger.train()
        total, texts = 0.0, batches(unlabelled, options.batch, rng)
        for index, batch in enumerate(batches(labelled, options.batch, rng)):
            loss = tagger.loss(batch)
            if texts:
                loss = loss + options.entropy * tagger.entropy(texts[index % len(texts)])
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(tagger.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        if epoch % max(options.epochs // 20, 1):
            continue
        minutes = f"{(time.process_time() - start) / 60:.1f} minutes of CPU"
        score = f"dev {tagger.accuracy(dev):.2%}"
        print(f"epoch {epoch}: loss {total / (index + 1):.4f}, {score}, {minutes}", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("PARTITA_DATA", ".")) / "ud_en_ewt"
    parser.add_argument("folder", nargs="?", type=Path, default=default)
    parser.add_argument("--labelled", type=int, help="learn the tags of so many sentences only")
    parser.add_argument("--entropy", type=float, default=0.0, help="its weight on the others")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch", type=int, default=500, help="words a step")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.manual_seed(options.seed)
    random.seed(options.seed)
    training, dev = (
        read_conllu(next(options.folder.glob(f"*-{part}.conllu"))) for part in ("train", "dev")
    )
    random.Random(options.seed).shuffle(training)
    labelled = training[: options.labelled]
    unlabelled = training[options.labelled :] if options.labelled and options.entropy else []
    forms = [form for s in labelled + unlabelled for form in s.column("FORM")]
    tags = sorted({tag for s in labelled for tag in s.column("UPOS")})
    tagger = Tagger(
        Vocabulary((form.lower() for form in forms), min_count=2),
        Vocabulary(letter for form in forms for letter in bordered(form)),
        {tag: number for number, tag in enumerate(tags)},
        Vocabulary(tag for s in labelled for tag in s.column("XPOS")),
    )
    train(tagger, labelled, unlabelled, dev, options)
    return tagger


if __name__ == "__main__":
    main()
