"""A small made-up language to tag: determiners, adjectives, nouns, verbs; two words are both."""

import numpy as np

LEXICON = {
    "DET": ["the", "a", "every"],
    "ADJ": ["old", "small", "Green", "round"],
    "NOUN": ["dog", "cat", "house", "round", "walk", "river"],
    "VERB": ["sees", "walk", "chased", "likes"],
}
FOLLOW = {"DET": ["ADJ", "NOUN"], "ADJ": ["NOUN"], "NOUN": ["VERB"], "VERB": ["DET"]}


def sentences(size, seed=0):
    """Tokens and tags of random sentences."""
    rng = np.random.default_rng(seed)
    words, tags = [], []
    for _ in range(size):
        sequence = ["DET"]
        while len(sequence) < rng.integers(2, 9):
            sequence.append(str(rng.choice(FOLLOW[sequence[-1]])))
        tags.append(sequence)
        words.append([str(rng.choice(LEXICON[tag])) for tag in sequence])
    return words, tags


def as_dicts(words):
    """The features that a user of sklearn-crfsuite would write."""
    return [
        [
            {
                "bias": 1.0,
                "word": word,
                "title": word.istitle(),
                "length": len(word) / 10,
                "last": sentence[index - 1] if index else "BOS",
            }
            for index, word in enumerate(sentence)
        ]
        for sentence in words
    ]


def chunked(size, seed=0):
    """Words with parts of speech as tuples, and chunk tags in IOB2."""
    words, tags = sentences(size, seed)
    inside = {"DET": "B-NP", "ADJ": "I-NP", "NOUN": "I-NP", "VERB": "B-VP"}
    tokens = [list(zip(*pair, strict=True)) for pair in zip(words, tags, strict=True)]
    return tokens, [[inside[tag] for tag in sequence] for sequence in tags]
