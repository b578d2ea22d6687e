"""A small treebank for tests of the parser, and all trees of a few words."""

import itertools

import numpy as np

from partita.data.sentences import Sentence
from partita.structures.tree_tools import is_tree

LEXICON = {"DET": ["the", "a"], "NOUN": ["dog", "cat", "man"], "VERB": ["sees", "hears"]}
SMALL = {
    "n_bits": 12,
    "label_bits": 10,
    "min_count": 1,
    "n_models": 1,
    "workers": 1,
    "progress": False,
}
CROSSING = """1\ta\t_\tX\t_\t_\t3\tdep\t_\t_
2\tb\t_\tY\t_\t_\t4\tdep\t_\t_
3\tc\t_\tX\t_\t_\t0\troot\t_\t_
4\td\t_\tZ\t_\t_\t3\tdep\t_\t_

"""


def made(size, seed=0):
    """Subject, verb and object with determiners, sometimes with an adverb that hangs far away."""
    rng = np.random.default_rng(seed)
    sentences = []
    for _ in range(size):
        tags = ["DET", "NOUN", "VERB", "DET", "NOUN"]
        heads = [2, 3, 0, 5, 3]
        labels = ["det", "nsubj", "root", "det", "obj"]
        if rng.random() < 0.3:
            tags, heads, labels = tags[1:3], [2, 0], labels[1:3]
        words = [str(rng.choice(LEXICON[tag])) for tag in tags]
        columns = {"FORM": words, "UPOS": tags, "HEAD": list(map(str, heads)), "DEPREL": labels}
        sentences.append(Sentence({name: tuple(values) for name, values in columns.items()}))
    return sentences


def heads_of(sentence):
    return [int(value) for value in sentence.column("HEAD")]


def all_trees(n_words, single_root=True):
    for heads in itertools.product(range(n_words + 1), repeat=n_words):
        if is_tree(np.array(heads), single_root=single_root):
            yield np.array(heads)
