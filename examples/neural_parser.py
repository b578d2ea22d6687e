"""A dependency parser: an LSTM over words and tags, and spanning trees from `partita.torch`.

    python examples/neural_parser.py FOLDER                      all sentences have trees
    python examples/neural_parser.py FOLDER --labelled 100 --rules rules.txt --entropy 0.01
                                                                 100 have, and the rest is text

FOLDER has en_ewt-ud-train.conllu and en_ewt-ud-dev.conllu, or any other treebank's files named
*-train.conllu and *-dev.conllu; without it, ud_en_ewt below $PARTITA_DATA is read. Tags are those of
the files; rules are about tags, as `partita.data.arc_rules` describes them.
"""

import argparse
import collections
import os
import random
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from partita.data import read_conllu
from partita.data.arc_rules import ANY, ROOT, read_arc_rules
from partita.data.dependencies import relations, tree_heads
from partita.evaluation.trees import compare_trees
from partita.torch.nn import TreeCRF
from partita.torch.nn.tree_crf import SharedDropout

PADDING, UNKNOWN = 0, 1
# What a word is described by: a value of a sentence's column, and how long its vector is.
VIEWS = {
    "form": (100, lambda s: [form.lower() for form in s.column("FORM")]),
    "prefix": (50, lambda s: [form[:3].lower() for form in s.column("FORM")]),
    "suffix": (50, lambda s: [form[-3:] for form in s.column("FORM")]),
    "UPOS": (50, lambda s: s.column("UPOS")),
    "XPOS": (50, lambda s: s.column("XPOS")),
    "FEATS": (50, lambda s: s.column("FEATS")),
}


class Vocabulary(dict):
    """Numbers of the values that occur at least twice; 0 is padding and 1 is all others."""

    def __init__(self, values):
        self.counts = collections.Counter(values)
        frequent = sorted(value for value, n in self.counts.items() if n > 1)
        super().__init__({value: number for number, value in enumerate(frequent, start=2)})

    def numbers(self, values, chance):
        """Those of some values; by `chance` a rare one is not known."""
        return torch.tensor([self.get(value, UNKNOWN) if self.is_kept(value, chance) else UNKNOWN for value in values])

    def is_kept(self, value, chance):
        return not chance or random.random() * (chance + self.counts[value]) > chance


class Parser(nn.Module):
    def __init__(self, sentences, labels, n_units=256, dropout=0.33):
        super().__init__()
        self.labels = labels
        self.vocabularies = {
            name: Vocabulary(value for s in sentences for value in view(s))
            for name, (_, view) in VIEWS.items()
        }
        self.embeddings = nn.ModuleDict(
            {
                name: nn.Embedding(len(vocabulary) + 2, VIEWS[name][0], padding_idx=PADDING)
                for name, vocabulary in self.vocabularies.items()
            }
        )
        sizes = [sum(size for size, _ in VIEWS.values()), *[2 * n_units] * 2]
        self.lstms = nn.ModuleList(
            nn.LSTM(size, n_units, batch_first=True, bidirectional=True) for size in sizes
        )
        self.dropout = SharedDropout(dropout)
        self.trees = TreeCRF(2 * n_units, len(labels), dropout=dropout)

    def forward(self, sentences):
        """Sentences -> a vector for each word, and a mask of the words."""
        chance = 0.25 if self.training else 0.0
        inputs = []
        for name, (_, view) in VIEWS.items():
            rows = [self.vocabularies[name].numbers(view(s), chance) for s in sentences]
            inputs.append(self.embeddings[name](pad_sequence(rows, batch_first=True)))
        vectors = torch.cat(inputs, dim=2)
        n_words = torch.tensor([len(row) for row in rows])
        for lstm in self.lstms:
            packed = pack_padded_sequence(
                self.dropout(vectors), n_words, batch_first=True, enforce_sorted=False
            )
            vectors, _ = pad_packed_sequence(lstm(packed)[0], batch_first=True)
        mask = torch.arange(vectors.shape[1]) < n_words[:, None]
        return self.dropout(vectors), mask

    def loss(self, sentences):
        vectors, mask = self(sentences)
        heads = pad_sequence([torch.tensor(tree_heads(s)) for s in sentences], batch_first=True)
        labels = [torch.tensor([self.labels[name] for name in relations(s)]) for s in sentences]
        labels = pad_sequence(labels, batch_first=True)
        return -self.trees(vectors, heads, labels, mask, "token_mean")

    @torch.no_grad()
    def predict(self, sentences):
        """The trees of least risk: those whose arcs have the highest probabilities in sum."""
        self.eval()
        names = list(self.labels)
        gold, found = [], []
        for batch in batches(sentences, 4000):
            vectors, mask = self(batch)
            marginals = self.trees.distribution(vectors, mask).marginals
            n_words = mask.sum(dim=1)
            heads = self.trees.tree_class(marginals, True, n_words=n_words).argmax
            labels = self.trees.label_scores(vectors, heads).argmax(dim=2)
            for sentence, row, numbers in zip(batch, heads.tolist(), labels.tolist(), strict=True):
                gold.append(sentence)
                found.append((row[: len(sentence)], [names[n] for n in numbers[: len(sentence)]]))
        return gold, found


class Rules:
    """How far the expected shares of arcs are from what rules ask for, squared and summed."""

    def __init__(self, rules, tags):
        self.rules = rules
        self.numbers = {tag: number for number, tag in enumerate([ROOT, *tags])}

    def __call__(self, p, sentences):
        n = len(self.numbers)
        rows = [[self.numbers[tag] for tag in [ROOT, *s.column("UPOS")]] for s in sentences]
        tags = pad_sequence([torch.tensor(row) for row in rows], batch_first=True)
        places = torch.arange(tags.shape[1])
        is_right = (places[:, None] > places).long()
        # Expected number of arcs of each kind: [tag of the head, of the modifier, side].
        kinds = (tags[:, :, None] * n + tags[:, None, :]) * 2 + is_right
        counts = torch.zeros(n * n * 2).index_add(0, kinds.flatten(), p.marginals.flatten())
        counts = counts.view(n, n, 2)
        return sum(self.distance(rule, counts) for rule in self.rules)

    def distance(self, rule, counts):
        among = slice(1, None) if rule.among == ANY else self.numbers[rule.among]
        share = sum(self.fitting(pattern, counts) for pattern in rule.patterns) / counts[:, among].sum().clamp(min=1)
        gap = rule.target - share
        return {"equal": gap, "at least": gap.relu(), "at most": (-gap).relu()}[rule.bound].square()

    def fitting(self, pattern, counts):
        head, modifier = (slice(1, None) if tag == ANY else self.numbers[tag] for tag in (pattern.head, pattern.modifier))
        side = {"left": 0, "right": 1, "any": slice(None)}[pattern.side]
        return counts[head][..., modifier, :][..., side].sum()


def batches(sentences, n_words, rng=None):
    """Sentences of about the same length, `n_words` words at a time."""
    found, size = [], n_words
    for sentence in sorted(sentences, key=lambda s: len(s) + (2 * rng.random() if rng else 0)):
        if size + len(sentence) > n_words:
            found.append([])
            size = 0
        found[-1].append(sentence)
        size += len(sentence)
    if rng:
        rng.shuffle(found)
    return found


def train(parser, labelled, text, dev, rules, options):
    optimiser = torch.optim.AdamW(parser.parameters(), lr=options.rate, betas=(0.9, 0.95))
    rng, start = random.Random(options.seed), time.process_time()
    n_steps = options.epochs * len(batches(labelled, options.batch))
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: max(0.0, 1 - step / n_steps))
    for epoch in range(1, options.epochs + 1):
        parser.train()
        total, texts = 0.0, batches(text, options.batch, rng)
        for index, batch in enumerate(batches(labelled, options.batch, rng)):
            loss = parser.loss(batch)
            if texts:
                others = texts[index % len(texts)]
                vectors, mask = parser(others)
                p = parser.trees.distribution(vectors, mask)
                loss = loss + options.entropy * p.entropy.sum() / mask.sum()
                loss = loss + options.rule_weight * rules(p, others)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parser.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += loss.item() * sum(map(len, batch))
        found = compare_trees(*parser.predict(dev))
        minutes = (time.process_time() - start) / 60
        print(
            f"epoch {epoch}: loss {total / sum(map(len, labelled)):.4f}, dev UAS {found.uas:.2%} "
            f"LAS {found.las:.2%}, {minutes:.1f} minutes of CPU",
            flush=True,
        )


def main(arguments=None):
    reader = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("PARTITA_DATA", ".")) / "ud_en_ewt"
    reader.add_argument("folder", nargs="?", type=Path, default=default)
    reader.add_argument("--labelled", type=int, help="learn the trees of so many sentences only")
    reader.add_argument("--entropy", type=float, default=0.0, help="its weight on the others")
    reader.add_argument("--rules", type=Path, help="a file of rules about the others' arcs")
    reader.add_argument("--rule-weight", type=float, default=1.0)
    reader.add_argument("--epochs", type=int, default=20)
    reader.add_argument("--batch", type=int, default=1000, help="words a step")
    reader.add_argument("--rate", type=float, default=2e-3)
    reader.add_argument("--seed", type=int, default=0)
    options = reader.parse_args(arguments)
    torch.manual_seed(options.seed)
    random.seed(options.seed)
    training, dev = (
        read_conllu(next(options.folder.glob(f"*-{part}.conllu"))) for part in ("train", "dev")
    )
    random.Random(options.seed).shuffle(training)
    labelled, text = training[: options.labelled], []
    if options.labelled and (options.entropy or options.rules):
        text = training[options.labelled :]
    names = sorted({name for s in labelled for name in relations(s)})
    parser = Parser(labelled + text, {name: number for number, name in enumerate(names)})
    rules = read_arc_rules(options.rules) if options.rules else []
    tags = sorted({tag for s in training for tag in s.column("UPOS")})
    train(parser, labelled, text, dev, Rules(rules, tags), options)
    return parser


if __name__ == "__main__":
    main()
