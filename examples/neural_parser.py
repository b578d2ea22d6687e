"""A dependency parser: an LSTM over words and tags, and spanning trees from `partita.torch`.

    python examples/neural_parser.py FOLDER                      all sentences have trees
    python examples/neural_parser.py FOLDER --labelled 100 --rules rules.txt --entropy 0.01
                                                                 100 have, and the rest is text

FOLDER has a treebank's files, named *-train.conllu and *-dev.conllu; without it, ud_en_ewt below
$PARTITA_DATA is read. Tags are those of the files; rules are about tags, as
`partita.data.arc_rules` describes them.
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
from partita.data.arc_rules import read_arc_rules
from partita.data.dependencies import relations, tree_heads
from partita.evaluation.trees import compare_trees
from partita.features.arc_constraints import arc_constraints, rule_targets
from partita.torch.nn import SharedDropout, TreeCRF

PADDING, UNKNOWN = 0, 1
# What a word is described by: a value of a sentence's column, and how long its vector is.
VIEWS = {
    "form": (100, lambda s: [form.lower() for form in s.column("FORM")]),
    "prefix": (30, lambda s: [form[:3].lower() for form in s.column("FORM")]),
    "suffix": (30, lambda s: [form[-3:] for form in s.column("FORM")]),
    "UPOS": (30, lambda s: s.column("UPOS")),
    "XPOS": (30, lambda s: s.column("XPOS")),
    "FEATS": (30, lambda s: s.column("FEATS")),
}


class Vocabulary(dict):
    """Numbers of the values that occur at least twice; 0 is padding and 1 is all others."""

    def __init__(self, values):
        self.counts = collections.Counter(values)
        frequent = sorted(value for value, n in self.counts.items() if n > 1)
        super().__init__({value: number for number, value in enumerate(frequent, start=2)})

    def number(self, value, share):
        """That of a value; by chance, up to this share, a rare one is not known."""
        is_hidden = share and random.random() < share / (share + self.counts[value])
        return UNKNOWN if is_hidden else self.get(value, UNKNOWN)


class Parser(nn.Module):
    def __init__(self, sentences, labels, n_units=160, dropout=0.33):
        super().__init__()
        self.labels = labels
        self.vocabularies = {
            name: Vocabulary(value for s in sentences for value in view(s))
            for name, (_, view) in VIEWS.items()
        }
        self.embeddings = nn.ModuleDict()
        for name, vocabulary in self.vocabularies.items():
            self.embeddings[name] = nn.Embedding(len(vocabulary) + 2, VIEWS[name][0], PADDING)
        sizes = [sum(size for size, _ in VIEWS.values()), 2 * n_units]
        self.lstms = nn.ModuleList(
            nn.LSTM(size, n_units, batch_first=True, bidirectional=True) for size in sizes
        )
        self.dropout = SharedDropout(dropout)
        self.trees = TreeCRF(
            2 * n_units, len(labels), n_arc_units=200, n_label_units=60, dropout=dropout
        )

    def forward(self, sentences):
        """Sentences -> a vector for each word, and a mask of the words."""
        inputs, share = [], 0.25 if self.training else 0.0
        for name, (_, view) in VIEWS.items():
            number = self.vocabularies[name].number
            rows = [torch.tensor([number(value, share) for value in view(s)]) for s in sentences]
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
        heads = [torch.tensor(tree_heads(s)) for s in sentences]
        labels = [torch.tensor([self.labels[name] for name in relations(s)]) for s in sentences]
        rows = (pad_sequence(rows, batch_first=True) for rows in (heads, labels))
        return -self.trees(vectors, *rows, mask, "token_mean")

    @torch.no_grad()
    def compared(self, sentences):
        """Trees with the most right arcs that can be expected, beside the true ones."""
        self.eval()
        names, gold, found = list(self.labels), [], []
        for batch in batches(sentences, 4000):
            trees = self.trees.decode(*self(batch), least_risk=True)
            for sentence, *rows in zip(batch, *trees, strict=True):
                heads, labels = (row[: len(sentence)].tolist() for row in rows)
                gold.append(sentence)
                found.append((heads, [names[label] for label in labels]))
        return compare_trees(gold, found)


def distance(p, sentences, rules):
    """How far the expected shares of arcs are from what rules ask for, squared and summed."""
    tags = [sentence.column("UPOS") for sentence in sentences]
    features, occurrences = arc_constraints(p.numpy.structures, tags, rules)
    which, arcs = map(torch.tensor, features.nonzero())
    expected = torch.zeros(len(rules)).index_add(0, which, p.flat_marginals[arcs])
    n_words = torch.tensor(occurrences.sum(axis=1)).clamp(min=1)
    targets, bounds = map(torch.tensor, rule_targets(rules))
    gaps = targets - expected / n_words
    # A bound of 1 is a target from below, -1 from above, and 0 from both sides.
    return torch.where(bounds == 0, gaps, (gaps * bounds).relu()).square().sum()


def batches(sentences, n_words, rng=None):
    """Sentences of about the same length, `n_words` words at a time."""
    ordered = sorted(sentences, key=lambda s: len(s) + (2 * rng.random() if rng else 0))
    ends = zip(ordered, itertools.accumulate(map(len, ordered)), strict=True)
    groups = itertools.groupby(ends, key=lambda pair: pair[1] // n_words)
    found = [[sentence for sentence, _ in group] for _, group in groups]
    if rng:
        rng.shuffle(found)
    return found


def train(parser, labelled, text, dev, rules, options):
    optimiser = torch.optim.AdamW(parser.parameters(), lr=options.rate, betas=(0.9, 0.95))
    rng, start = random.Random(options.seed), time.process_time()
    n_steps = options.epochs * len(batches(labelled, options.batch))
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, n_steps)
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
                loss = loss + options.rule_weight * distance(p, others, rules)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parser.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        if epoch % max(options.epochs // 20, 1):
            continue
        found = parser.compared(dev)
        minutes = f"{(time.process_time() - start) / 60:.1f} minutes of CPU"
        scores = f"dev UAS {found.uas:.2%} LAS {found.las:.2%}"
        print(f"epoch {epoch}: loss {total / (index + 1):.4f}, {scores}, {minutes}", flush=True)


def main(arguments=None):
    reader = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    default = Path(os.environ.get("PARTITA_DATA", ".")) / "ud_en_ewt"
    reader.add_argument("folder", nargs="?", type=Path, default=default)
    reader.add_argument("--labelled", type=int, help="learn the trees of so many sentences only")
    reader.add_argument("--entropy", type=float, default=0.0, help="its weight on the others")
    reader.add_argument("--rules", type=Path, help="a file of rules about the others' arcs")
    reader.add_argument("--rule-weight", type=float, default=1.0)
    reader.add_argument("--epochs", type=int, default=12)
    reader.add_argument("--batch", type=int, default=600, help="words a step")
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
    train(parser, labelled, text, dev, rules, options)
    return parser


if __name__ == "__main__":
    main()
