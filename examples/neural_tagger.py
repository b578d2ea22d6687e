"""A tagger of words and their letters: two LSTMs, and a CRF from `partita.torch`.

    python examples/neural_tagger.py FOLDER                                all sentences have tags
    python examples/neural_tagger.py FOLDER --labelled 100 --entropy 0.1   100 have, others not

FOLDER has a treebank's files, named *-train.conllu and *-dev.conllu.
"""

import argparse
import collections
import itertools
import random
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from partita.data import read_conllu
from partita.torch.nn import CRF, SharedDropout

PADDING, UNKNOWN, BORDER, LONGEST_WORD = 0, 1, "  ", 20
# What a word is described by beside its letters, and how long the vector of that is.
VIEWS = {
    "word": (100, str.lower),
    "prefix": (32, lambda form: form[:3].lower()),
    "suffix": (32, lambda form: form[-3:].lower()),
}
# Other columns to be learnt from the same vectors, which makes these better for the tags.
BESIDE = {"XPOS": 0.5, "FEATS": 0.25, "DEPREL": 0.25}


class Vocabulary(dict):
    """Numbers of the values that occur often enough; 0 is padding and 1 is all others."""

    def __init__(self, values, min_count=1):
        counts = collections.Counter(values)
        frequent = sorted(value for value, n in counts.items() if n >= min_count)
        super().__init__({value: number for number, value in enumerate(frequent, start=2)})
        self.counts = torch.tensor([torch.inf, torch.inf, *map(counts.get, frequent)])

    def rows(self, sentences):
        """Lists of values as the rows of a tensor of numbers."""
        return padded([self.get(value, UNKNOWN) for value in values] for values in sentences)


class Letters(nn.Module):
    """A vector for each word from its letters: what each filter finds anywhere in the word."""

    def __init__(self, vocabulary, n_units):
        super().__init__()
        self.vocabulary = vocabulary
        self.embeddings = nn.Embedding(len(vocabulary) + 2, 32, padding_idx=PADDING)
        self.filters = nn.ModuleList(nn.Conv1d(32, n_units // 2, width) for width in (3, 5))

    def forward(self, rows):
        """Words of sentences -> (n_sentences, n_words, n_units); each word is looked at once."""
        forms = {form: n for n, form in enumerate(dict.fromkeys(itertools.chain(*rows)))}
        letters = self.vocabulary.rows(BORDER + form[-LONGEST_WORD:] + BORDER for form in forms)
        vectors = self.embeddings(letters).transpose(1, 2)
        found = torch.cat([filters(vectors).amax(dim=2) for filters in self.filters], dim=1)
        return found[padded([forms[form] for form in row] for row in rows)]


class Tagger(nn.Module):
    def __init__(self, sentences, labelled, n_units=160, dropout=0.33):
        super().__init__()
        forms = values(sentences, "FORM")
        self.tags = {tag: n for n, tag in enumerate(sorted(set(values(labelled, "UPOS"))))}
        self.beside = {name: Vocabulary(values(labelled, name)) for name in BESIDE}
        self.views = {name: Vocabulary(map(view, forms), 2) for name, (_, view) in VIEWS.items()}
        self.embeddings = nn.ModuleDict()
        for name, (size, _) in VIEWS.items():
            self.embeddings[name] = nn.Embedding(len(self.views[name]) + 2, size)
            # Small, so that the vectors of rare words, which hardly move, say little.
            nn.init.normal_(self.embeddings[name].weight, std=0.1)
        self.letters = Letters(Vocabulary(itertools.chain(BORDER, *forms)), 128)
        sizes = 128 + sum(size for size, _ in VIEWS.values()), 2 * n_units
        self.lstms = nn.ModuleList(
            nn.LSTM(size, n_units, batch_first=True, bidirectional=True) for size in sizes
        )
        self.dropout = SharedDropout(dropout)
        self.scores = nn.Linear(2 * n_units, len(self.tags))
        self.crf = CRF(len(self.tags), batch_first=True)
        self.scores_beside = nn.ModuleDict(
            {name: nn.Linear(2 * n_units, len(self.beside[name]) + 2) for name in BESIDE}
        )

    def forward(self, sentences):
        """Sentences -> a vector for each word, and a mask of the words."""
        rows = [s.column("FORM") for s in sentences]
        inputs = [self.letters(rows)]
        for name, (_, view) in VIEWS.items():
            numbers = self.views[name].rows(map(view, row) for row in rows)
            if self.training:
                # Now and then a word is not known, and a rare one more often.
                counts = self.views[name].counts[numbers]
                numbers[torch.rand(numbers.shape) < 0.5 / (0.5 + counts)] = UNKNOWN
            inputs.append(self.embeddings[name](numbers))
        vectors, n_words = torch.cat(inputs, dim=2), torch.tensor([len(row) for row in rows])
        for lstm in self.lstms:
            packed = pack_padded_sequence(self.dropout(vectors), n_words, True, False)
            vectors, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
        return self.dropout(vectors), torch.arange(vectors.shape[1]) < n_words[:, None]

    def loss(self, sentences):
        vectors, mask = self(sentences)
        tags = padded([self.tags[tag] for tag in s.column("UPOS")] for s in sentences)
        loss = -self.crf(self.scores(vectors), tags, mask, "token_mean")
        for name, weight in BESIDE.items():
            targets = self.beside[name].rows(s.column(name) for s in sentences)
            scores = self.scores_beside[name](vectors[mask])
            loss = loss + weight * nn.functional.cross_entropy(scores, targets[mask])
        return loss

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
            best = itertools.chain(*self.crf.decode(self.scores(vectors), mask))
            right += sum(map(str.__eq__, map(names.__getitem__, best), values(batch, "UPOS")))
        return right / sum(map(len, sentences))


def values(sentences, name):
    """What the words of all sentences have in a column."""
    return [value for s in sentences for value in s.column(name)]


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
    optimiser = torch.optim.AdamW(tagger.parameters(), lr=options.rate, betas=(0.9, 0.95))
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
        if epoch % max(options.epochs // 20, 1) == 0:
            accuracy, minutes = tagger.accuracy(dev), (time.process_time() - start) / 60
            found = f"loss {total:.1f}, dev {accuracy:.2%}, {minutes:.1f} minutes of CPU"
            print(f"epoch {epoch}: {found}", flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--labelled", type=int, help="learn the tags of so many sentences only")
    parser.add_argument("--entropy", type=float, default=0.0, help="its weight on the others")
    parser.add_argument("--epochs", type=int, default=16)
    parser.add_argument("--batch", type=int, default=500, help="words a step")
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    torch.manual_seed(options.seed)
    files = (next(options.folder.glob(f"*-{part}.conllu")) for part in ("train", "dev"))
    training, dev = map(read_conllu, files)
    random.Random(options.seed).shuffle(training)
    labelled = training[: options.labelled]
    unlabelled = training[options.labelled :] if options.labelled and options.entropy else []
    tagger = Tagger(labelled + unlabelled, labelled)
    train(tagger, labelled, unlabelled, dev, options)
    return tagger


if __name__ == "__main__":
    main()
