"""A small bitext: French-like sentences of a few words, adjectives behind their nouns."""

import itertools

NOUNS = {"maison": "house", "fleur": "flower", "voiture": "car", "porte": "door"}
ADJECTIVES = {"bleue": "blue", "petite": "small", "verte": "green"}
DETERMINERS = {"la": "the", "une": "a"}


def bitext():
    """Source and target sentences: a determiner, a noun, and perhaps an adjective."""
    source, target = [], []
    for determiner, noun in itertools.product(DETERMINERS, NOUNS):
        source.append([determiner, noun])
        target.append([DETERMINERS[determiner], NOUNS[noun]])
        for adjective in ADJECTIVES:
            # One noun never has an adjective in training.
            if noun != "porte":
                source.append([determiner, noun, adjective])
                target.append([DETERMINERS[determiner], ADJECTIVES[adjective], NOUNS[noun]])
    return source, target
