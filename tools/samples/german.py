"""German inflection, as far as the sample grammar needs it.

Cases are nom, acc and dat; genders m, f and n; `pl` stands for all genders in the plural.
"""

from tools.samples.lexicon import Adjective, Noun, Verb

_COLUMN = {"m": 0, "f": 1, "n": 2, "pl": 3}
_ARTICLE = {
    "nom": ("der", "die", "das", "die"),
    "acc": ("den", "die", "das", "die"),
    "dat": ("dem", "der", "dem", "den"),
}
# dieser, jener, jeder
_STRONG = {
    "nom": ("er", "e", "es", "e"),
    "acc": ("en", "e", "es", "e"),
    "dat": ("em", "er", "em", "en"),
}
# ein, kein, mein
_INDEFINITE = {**_STRONG, "nom": ("", "e", "", "e"), "acc": ("en", "e", "", "e")}
_WEAK = {
    "nom": ("e", "e", "e", "en"),
    "acc": ("en", "e", "e", "en"),
    "dat": ("en", "en", "en", "en"),
}
_MIXED = {**_WEAK, "nom": ("er", "e", "es", "en"), "acc": ("en", "e", "es", "en")}

CONTRACTIONS = {
    ("in", "dem"): "im",
    ("an", "dem"): "am",
    ("von", "dem"): "vom",
    ("zu", "dem"): "zum",
    ("zu", "der"): "zur",
    ("bei", "dem"): "beim",
}

PRONOUNS = {
    "I": ("ich", "mich", "mir"),
    "he": ("er", "ihn", "ihm"),
    "she": ("sie", "sie", "ihr"),
    "it": ("es", "es", "ihm"),
    "we": ("wir", "uns", "uns"),
    "they": ("sie", "sie", "ihnen"),
}

FINITE = {
    "haben": {"1sg": "habe", "3sg": "hat", "pl": "haben"},
    "sein": {"1sg": "bin", "3sg": "ist", "pl": "sind"},
    "waren": {"1sg": "war", "3sg": "war", "pl": "waren"},
    "wurden": {"1sg": "wurde", "3sg": "wurde", "pl": "wurden"},
    "can": {"1sg": "kann", "3sg": "kann", "pl": "können"},
    "must": {"1sg": "muss", "3sg": "muss", "pl": "müssen"},
    "should": {"1sg": "sollte", "3sg": "sollte", "pl": "sollten"},
    "will": {"1sg": "werde", "3sg": "wird", "pl": "werden"},
    "may": {"1sg": "darf", "3sg": "darf", "pl": "dürfen"},
    "want": {"1sg": "will", "3sg": "will", "pl": "wollen"},
    "wanted": {"1sg": "wollte", "3sg": "wollte", "pl": "wollten"},
}


def determiner(kind: str, gender: str, case: str) -> str:
    """A determiner that agrees: `the` by the article, others by their stem and an ending.

    >>> determiner("the", "m", "dat"), determiner("ein", "f", "acc"), determiner("dies", "n", "nom")
    ('dem', 'eine', 'dieses')
    """
    if kind == "the":
        return _ARTICLE[case][_COLUMN[gender]]
    endings = _STRONG if kind in ("dies", "jen", "jed") else _INDEFINITE
    return kind + endings[case][_COLUMN[gender]]


def adjective(word: Adjective, kind: str, gender: str, case: str) -> str:
    """An adjective before a noun, after a determiner (`""` for none, in the plural).

    >>> old = Adjective("old", "alt", "alt", frozenset())
    >>> adjective(old, "the", "m", "acc"), adjective(old, "ein", "n", "nom")
    ('alten', 'altes')
    """
    if kind in ("the", "dies", "jen", "jed"):
        endings = _WEAK
    elif kind in ("ein", "kein", "mein", "sein", "ihr"):
        endings = _MIXED
    else:
        endings = _STRONG
    return word.stem + endings[case][_COLUMN[gender]]


def noun(word: Noun, number: str, case: str) -> str:
    """A noun in a case.

    >>> from tools.samples.lexicon import nouns
    >>> noun(nouns()[2], "pl", "dat")
    'Hunden'
    """
    if number == "sg":
        return word.german if case == "nom" else word.oblique
    ends_well = word.german_plural[-1] in "ns"
    return word.german_plural + ("n" if case == "dat" and not ends_well else "")


def pronoun(english: str, case: str) -> str:
    """A personal pronoun in a case."""
    return PRONOUNS[english][("nom", "acc", "dat").index(case)]


def reflexive(person: str) -> str:
    """The reflexive pronoun for a subject.

    >>> reflexive("1sg"), reflexive("3pl")
    ('mich', 'sich')
    """
    return {"1sg": "mich", "1pl": "uns"}.get(person, "sich")


def present(verb: Verb, person: str) -> str:
    """A verb in the present tense, without its prefix.

    >>> from tools.samples.lexicon import verbs
    >>> [present(verbs()[0], person) for person in ("1sg", "3sg", "3pl")]
    ['sehe', 'sieht', 'sehen']
    """
    irregular = {"wissen": "weiß", "mögen": "mag"}
    if person == "1sg":
        return irregular.get(verb.infinitive, _first_person(verb.infinitive))
    return verb.third if person == "3sg" else verb.infinitive


def _first_person(infinitive: str) -> str:
    return infinitive[:-1] if infinitive.endswith("en") else infinitive[:-1] + "e"


def finite(auxiliary: str, person: str) -> str:
    """An auxiliary or modal verb for a subject."""
    forms = FINITE[auxiliary]
    return forms.get(person, forms["pl"])
