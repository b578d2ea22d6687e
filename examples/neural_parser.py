"""A dependency parser: an LSTM over words and tags, and spanning trees from `partita.torch`.

    python examples/neural_parser.py FOLDER                      all sentences have trees
    python examples/neural_parser.py FOLDER --labelled 100 --rules rules.txt --entropy 0.01
                                                                 100 have, and the rest is text

FOLDER has a treebank's files, named *-train.conllu and *-dev.conllu. Tags are those of the files;
rules are about tags, as `partita.data.arc_rules` describes them.
"""

import argparse
import collections
import itertools
import random
import time
from pathlib import Path

import torch
from torch import nn

from partita.data import read_conllu
from partita.data.arc_rules import read_arc_rules
from partita.data.dependencies import relations, tree_heads
from partita.evaluation.trees import compare_trees
from partita.features.arc_constraints import arc_constraints, rule_targets
from partita.torch.nn import SharedDropout, TreeCRF

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
    """Numbers of the values that occur at least twice; 0 is all others."""

    def __init__(self, values):
        counts = collections.Counter(values)
        frequent = sorted(value for value, n in counts.items() if n > 1)
        super().__init__({value: number for number, value in enumerate(frequent, start=1)})
        self.counts = torch.tensor([torch.inf, *map(counts.get, frequent)])

    def rows(self, sentences):
        """Values of the words of sentences, all of one length, as a tensor of numbers."""
        return torch.tensor([[self.get(value, 0) for value in values] for values in sentences])


class Parser(nn.Module):
    def __init__(self, sentences, labels, n_units=256, dropout=0.33):
        super().__init__()
        self.labels = labels
        self.views = {
            name: Vocabulary(value for s in sentences for value in view(s))
            for name, (_, view) in VIEWS.items()
        }
        self.embeddings = nn.ModuleDict()
        for name, (size, _) in VIEWS.items():
            self.embeddings[name] = nn.Embedding(len(self.views[name]) + 1, size)
            # Small, so that the vectors of rare words, which hardly move, say little.
            nn.init.normal_(self.embeddings[name].weight, std=0.1)
        sizes = sum(size for size, _ in VIEWS.values()), 2 * n_units
        self.lstms = nn.ModuleList(
            nn.LSTM(size, n_units, batch_first=True, bidirectional=True) for size in sizes
        )
        self.dropout = SharedDropout(dropout)
        self.trees = TreeCRF(
            2 * n_units, len(labels), n_arc_units=300, n_label_units=60, dropout=dropout
        )

    def forward(self, sentences):
        """Sentences, all of one length -> (n_sentences, n_words, n_units), a vector a word."""
        inputs = []
        for name, (_, view) in VIEWS.items():
            numbers = self.views[name].rows(map(view, sentences))
            if self.training:
                # Now and then a value is not known, and a rare one more often.
                share = 0.1 + 0.25 / (0.25 + self.views[name].counts[numbers])
                numbers[torch.rand(numbers.shape) < share] = 0
            inputs.append(self.embeddings[name](numbers))
        vectors = torch.cat(inputs, dim=2)
        for lstm in self.lstms:
            vectors, _ = lstm(self.dropout(vectors))
        return self.dropout(vectors)

    def loss(self, sentences):
        heads = torch.tensor([tree_heads(s) for s in sentences])
        labels = torch.tensor([[self.labels[name] for name in relations(s)] for s in sentences])
        return -self.trees(self(sentences), heads, labels, reduction="sum")

    @torch.no_grad()
    def compared(self, sentences):
        """Trees with the most right arcs that can be expected, beside the true ones."""
        self.eval()
        names, gold, found = list(self.labels), [], []
        for batch in batches(sentences, 4000):
            trees = self.trees.decode(self(batch), least_risk=True)
            for heads, labels in zip(*(rows.tolist() for rows in trees), strict=True):
                found.append((heads, [names[label] for label in labels]))
            gold += batch
        return compare_trees(gold, found)


def distance(p, sentences, rules, before=None):
    """How far the expected shares of arcs are from what rules ask for, squared and summed.

    `before` has expected arcs and words of earlier batches, which fade: one alone says little.
    """
    tags = [sentence.column("UPOS") for sentence in sentences]
    features, occurrences = arc_constraints(p.numpy.structures, tags, rules)
    which, arcs = map(torch.tensor, features.nonzero())
    expected = torch.zeros(len(rules)).index_add(0, which, p.flat_marginals[arcs])
    n_words = torch.tensor(occurrences.sum(axis=1))
    if before is not None:
        expected, n_words = 0.95 * before[0] + expected, 0.95 * before[1] + n_words
        before[:] = expected.detach(), n_words
    targets, bounds = map(torch.tensor, rule_targets(rules))
    gaps = targets - expected / n_words.clamp(min=1)
    # A bound of 1 is a target from below, -1 from above, and 0 from both sides.
    return torch.where(bounds == 0, gaps, (gaps * bounds).relu()).square().sum()


def batches(sentences, n_words, rng=None):
    """Sentences of one length, about `n_words` words at a time: nothing has to be padded."""
    shuffled = rng.sample(sentences, len(sentences)) if rng else sentences
    found = []
    for length, group in itertools.groupby(sorted(shuffled, key=len), key=len):
        same = list(group)
        size = max(n_words // length, 1)
        found += [same[first : first + size] for first in range(0, len(same), size)]
    return rng.sample(found, len(found)) if rng else found


def train(parser, labelled, text, dev, rules, options):
    optimiser = torch.optim.AdamW(
        parser.parameters(), lr=options.rate, betas=(0.9, 0.95), fused=True
    )
    rng, start = random.Random(options.seed), time.process_time()
    n_steps = options.epochs * len(batches(labelled, options.batch))
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, n_steps)
    before = [torch.zeros(len(rules)), torch.zeros(len(rules))]
    for epoch in range(1, options.epochs + 1):
        parser.train()
        total, texts = 0.0, batches(text, options.batch, rng)
        for index, batch in enumerate(batches(labelled, options.batch, rng)):
            loss = parser.loss(batch) / options.batch
            if texts:
                others = texts[index % len(texts)]
                p = parser.trees.distribution(parser(others))
                loss = loss + options.entropy * p.entropy.sum() / options.batch
                loss = loss + options.rule_weight * distance(p, others, rules, before)
            optimiser.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parser.parameters(), 5.0)
            optimiser.step()
            schedule.step()
            total += loss.item()
        if epoch % max(options.epochs // 20, 1) == 0:
            found, minutes = parser.compared(dev), (time.process_time() - start) / 60
            print(
                f"epoch {epoch}: loss {total:.1f}, dev UAS {found.uas:.2%} LAS {found.las:.2%}, "
                f"{minutes:.1f} minutes of CPU",
                flush=True,
            )


def main(arguments=None):
    reader = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    reader.add_argument("folder", type=Path)
    reader.add_argument("--labelled", type=int, help="learn the trees of so many sentences only")
    reader.add_argument("--entropy", type=float, default=0.0, help="its weight on the others")
    reader.add_argument("--rules", type=Path, help="a file of rules about the others' arcs")
    reader.add_argument("--rule-weight", type=float, default=1.0)
    reader.add_argument("--epochs", type=int, default=13)
    reader.add_argument("--batch", type=int, default=600, help="words a step")
    reader.add_argument("--rate", type=float, default=2e-3)
    reader.add_argument("--seed", type=int, default=0)
    options = reader.parse_args(arguments)
    torch.manual_seed(options.seed)
    files = (next(options.folder.glob(f"*-{part}.conllu")) for part in ("train", "dev"))
    training, dev = map(read_conllu, files)
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
