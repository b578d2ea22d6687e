"""Noun phrases, prepositional phrases and adverbs of the sample grammar, in both languages."""

from tools.samples import german
from tools.samples.lexicon import (
    Adjective,
    Adverb,
    Noun,
    adjectives,
    adverbs,
    names,
    nouns,
    starts_with_vowel,
)
from tools.samples.pieces import Draws, Phrase, Token, Word, attach, chunked

# English: tag, Penn tag, features, German stem. An empty word stands for no determiner.
SINGULAR = [
    ("the", 45.0),
    ("a", 25.0),
    ("this", 5.0),
    ("that", 6.0),
    ("every", 3.0),
    ("my", 6.0),
    ("his", 5.0),
    ("her", 5.0),
    ("no", 2.0),
]
PLURAL = [
    ("the", 40.0),
    ("", 16.0),
    ("some", 8.0),
    ("many", 8.0),
    ("two", 6.0),
    ("three", 4.0),
    ("seven", 1.0),
    ("these", 5.0),
    ("those", 3.0),
    ("my", 5.0),
    ("her", 4.0),
]
_ARTICLES = {
    "the": ("the", "DET", "DT", "Definite=Def|PronType=Art", "the"),
    "a": ("a", "DET", "DT", "Definite=Ind|PronType=Art", "ein"),
    "this": ("this", "DET", "DT", "Number=Sing|PronType=Dem", "dies"),
    "that": ("that", "DET", "DT", "Number=Sing|PronType=Dem", "jen"),
    "these": ("this", "DET", "DT", "Number=Plur|PronType=Dem", "dies"),
    "those": ("that", "DET", "DT", "Number=Plur|PronType=Dem", "jen"),
    "every": ("every", "DET", "DT", "PronType=Tot", "jed"),
    "no": ("no", "DET", "DT", "PronType=Neg", "kein"),
    "some": ("some", "DET", "DT", "PronType=Ind", "einige"),
    "many": ("many", "ADJ", "JJ", "Degree=Pos", "viele"),
    "two": ("two", "NUM", "CD", "NumType=Card", "zwei"),
    "three": ("three", "NUM", "CD", "NumType=Card", "drei"),
    "seven": ("seven", "NUM", "CD", "NumType=Card", "sieben"),
    "my": ("my", "PRON", "PRP$", "Number=Sing|Person=1|Poss=Yes|PronType=Prs", "mein"),
    "his": (
        "his",
        "PRON",
        "PRP$",
        "Gender=Masc|Number=Sing|Person=3|Poss=Yes|PronType=Prs",
        "sein",
    ),
    "her": ("her", "PRON", "PRP$", "Gender=Fem|Number=Sing|Person=3|Poss=Yes|PronType=Prs", "ihr"),
}
_OBJECT_FORMS = {"I": "me", "he": "him", "she": "her", "it": "it", "we": "us", "they": "them"}
_PERSONS = {"I": "1sg", "he": "3sg", "she": "3sg", "it": "3sg", "we": "1pl", "they": "3pl"}
_RELATIONS = {"DET": "det", "NUM": "nummod", "ADJ": "amod", "PRON": "nmod:poss"}

# English preposition, German preposition, its case, kinds of noun after it.
PLACES = [
    (("in", "in", "dat", "inside"), 5.0),
    (("on", "auf", "dat", "top"), 2.0),
    (("near", "bei", "dat", "place"), 2.0),
    (("behind", "hinter", "dat", "place"), 1.5),
    (("under", "unter", "dat", "place"), 1.0),
    (("after", "nach", "dat", "event"), 1.5),
    (("before", "vor", "dat", "event"), 1.0),
]
BELONGINGS = [
    (("with", "mit", "dat", "wear"), 4.0),
    (("in", "in", "dat", "inside"), 3.0),
    (("from", "aus", "dat", "place"), 2.0),
    (("without", "ohne", "acc", "wear"), 1.0),
]


def noun_phrase(
    draws: Draws, kinds: frozenset[str], case: str, depth: int, *, pronouns: float = 0.2
) -> Phrase:
    """NP -> pronoun | name | determiner (adverb) (adjective) noun (PP) | NP 's noun | NP and NP."""
    if draws.chance(pronouns):
        return _pronoun(draws, kinds, case)
    if "person" in kinds and draws.chance(0.22):
        return _name(draws)
    if depth < 2 and draws.chance(0.06):
        return _possessive(draws, kinds, case, depth)
    if depth < 2 and draws.chance(0.05):
        return _coordination(draws, kinds, case)
    phrase = common_noun(draws, kinds, case)
    if depth < 2 and draws.chance(0.16 if "person" in kinds else 0.08):
        _add_belonging(draws, phrase, "person" in kinds)
    return phrase


def _pronoun(draws: Draws, kinds: frozenset[str], case: str) -> Phrase:
    choices = [("it", 1.0), ("they", 1.0)]
    if "person" in kinds:
        choices += [("he", 2.0), ("she", 2.0), ("I", 1.5 if case == "nom" else 0.7), ("we", 1.0)]
    lemma = draws.weighted(choices)
    form = lemma if case == "nom" else _OBJECT_FORMS[lemma]
    person = _PERSONS[lemma]
    features = [f"Case={'Nom' if case == 'nom' else 'Acc'}"]
    features += {"he": ["Gender=Masc"], "she": ["Gender=Fem"], "it": ["Gender=Neut"]}.get(lemma, [])
    features += [f"Number={'Sing' if person.endswith('sg') else 'Plur'}", f"Person={person[0]}"]
    word = Word(form, lemma, "PRON", "PRP", "|".join([*features, "PronType=Prs"]))
    chunked("NP", [word])
    tokens = [Token(german.pronoun(lemma, case), (word,))]
    return Phrase(word, [word], tokens, person, is_pronoun=True)


def _name(draws: Draws) -> Phrase:
    name = draws.ranked([name for name in names() if name.kind != "place"])
    word = Word(name.english, name.english, "PROPN", "NNP", "Number=Sing")
    chunked("NP", [word])
    return Phrase(word, [word], [Token(name.german, (word,))], gender=name.kind)


def common_noun(
    draws: Draws, kinds: frozenset[str], case: str, *, bare: bool = False, number: str = ""
) -> Phrase:
    """Determiner, adjectives and noun; `bare` leaves the determiner to the possessor."""
    noun = draws.ranked([noun for noun in nouns() if noun.kinds & kinds])
    number = number or ("pl" if draws.chance(0.28) else "sg")
    gender = "pl" if number == "pl" else noun.gender
    choice = "the" if bare else draws.weighted(PLURAL if number == "pl" else SINGULAR)
    lemma, tag, penn, features, stem = _ARTICLES.get(choice, ("", "", "", "", ""))
    head, compound = _english_noun(noun, number)
    english, tokens = [], []
    if choice and not bare:
        word = Word(choice, lemma, tag, penn, features)
        english.append(attach(word, head, _RELATIONS[tag]))
    if choice:
        tokens.append(Token(_german_determiner(stem, gender, case), tuple(english)))
    for adjective in _adjectives(draws, noun.kinds):
        _add_adjective(draws, english, tokens, head, adjective, (stem, gender, case))
    if choice == "a" and starts_with_vowel([*english[1:], *compound, head][0].form):
        english[0].form = "an"
    english += [*compound, head]
    tokens.append(Token(german.noun(noun, number, case), (*compound, head)))
    chunked("NP", english)
    return Phrase(head, english, tokens, "3" + number, gender=gender, kinds=noun.kinds)


def _english_noun(noun: Noun, number: str) -> tuple[Word, list[Word]]:
    is_plural = number == "pl"
    form = noun.plural if is_plural else noun.english
    features = "Number=Plur" if is_plural else "Number=Sing"
    head = Word(form, noun.english, "NOUN", "NNS" if is_plural else "NN", features)
    if not noun.compound:
        return head, []
    first = Word(noun.compound, noun.compound, "NOUN", "NN", "Number=Sing")
    return head, [attach(first, head, "compound")]


def _german_determiner(stem: str, gender: str, case: str) -> str:
    if stem in ("zwei", "drei", "sieben"):
        return stem
    if stem in ("einige", "viele"):
        return stem + ("n" if case == "dat" else "")
    return german.determiner(stem, gender, case)


def _adjectives(draws: Draws, kinds: frozenset[str]) -> list[Adjective]:
    fitting = [adjective for adjective in adjectives() if adjective.kinds & kinds]
    if not fitting or not draws.chance(0.3):
        return []
    first, second = draws.ranked(fitting), draws.ranked(fitting)
    return [first, second] if first is not second and draws.chance(0.15) else [first]


def _add_adjective(
    draws: Draws,
    english: list[Word],
    tokens: list[Token],
    head: Word,
    adjective: Adjective,
    agreement: tuple[str, str, str],
) -> None:
    word = adjective_word(adjective)
    attach(word, head, "amod")
    if draws.chance(0.12):
        degree, token = adverb(draws, "degree")
        english.append(attach(degree, word, "advmod"))
        tokens.append(token)
    english.append(word)
    tokens.append(Token(german.adjective(adjective, *agreement), (word,)))


def adjective_word(adjective: Adjective) -> Word:
    """The English word of an adjective."""
    return Word(adjective.english, adjective.english, "ADJ", "JJ", "Degree=Pos")


def adverb(draws: Draws, kind: str) -> tuple[Word, Token]:
    """An adverb of a kind in both languages; degree adverbs join the chunk of their head."""
    found: Adverb = draws.ranked([adverb for adverb in adverbs() if adverb.kind == kind])
    word = Word(found.english, found.english, "ADV", "RB", "_")
    if kind != "degree":
        chunked("ADVP", [word])
    return word, Token(found.german, (word,))


def prepositional(
    preposition: str, german_preposition: str, phrase: Phrase, relation: str, head: Word
) -> Phrase:
    """PP -> preposition NP, below a head; German contracts `in dem` to `im`."""
    case = Word(preposition, preposition, "ADP", "IN", "_", phrase.head, "case")
    chunked("PP", [case])
    attach(phrase.head, head, relation)
    first, *rest = phrase.german
    contracted = german.CONTRACTIONS.get((german_preposition, first.form))
    if contracted is not None and first.sure and first.sure[0].lemma == "the":
        tokens = [Token(contracted, (case, *first.sure)), *rest]
    elif german_preposition:
        tokens = [Token(german_preposition, (case,)), first, *rest]
    else:
        tokens = phrase.german
    return Phrase(phrase.head, [case, *phrase.english], tokens)


def place(draws: Draws, head: Word, depth: int, relation: str = "obl") -> Phrase:
    """A place or a time as a modifier of a verb: in the park, after the concert, in London."""
    if draws.chance(0.12):
        name = draws.ranked([name for name in names() if name.kind == "place"])
        word = Word(name.english, name.english, "PROPN", "NNP", "Number=Sing")
        chunked("NP", [word])
        named = Phrase(word, [word], [Token(name.german, (word,))])
        return prepositional("in", "in", named, relation, head)
    english, foreign, case, kind = draws.weighted(PLACES)
    phrase = noun_phrase(draws, frozenset([kind]), case, depth + 1, pronouns=0.0)
    return prepositional(english, foreign, phrase, relation, head)


def _add_belonging(draws: Draws, phrase: Phrase, is_person: bool) -> None:
    """NP -> NP PP: the man with the hat, the book from the library."""
    belongings = BELONGINGS if is_person else BELONGINGS[1:3]
    english, foreign, case, kind = draws.weighted(belongings)
    inner = common_noun(draws, frozenset([kind]), case)
    modifier = prepositional(english, foreign, inner, "nmod", phrase.head)
    phrase.english += modifier.english
    phrase.german += modifier.german


def _possessive(draws: Draws, kinds: frozenset[str], case: str, depth: int) -> Phrase:
    """NP -> NP 's noun; German says: the noun of NP."""
    owner = noun_phrase(draws, frozenset(["person"]), "dat", 2, pronouns=0.0)
    owned = common_noun(draws, kinds, case, bare=True)
    is_plural = owner.head.form.endswith("s") and owner.person == "3pl"
    marker = Word("'" if is_plural else "'s", "'s", "PART", "POS", "_", owner.head, "case")
    attach(owner.head, owned.head, "nmod:poss")
    chunked("NP", [marker, *owned.english])
    first, *rest = owner.german
    if first.form == "dem" and first.sure[0].lemma == "the":
        of = [Token("vom", (marker, *first.sure)), *rest]
    else:
        of = [Token("von", (marker,)), first, *rest]
    english = [*owner.english, marker, *owned.english]
    return Phrase(
        owned.head, english, owned.german + of, owned.person, gender=owned.gender, kinds=owned.kinds
    )


def _coordination(draws: Draws, kinds: frozenset[str], case: str) -> Phrase:
    """NP -> NP and NP."""
    first = noun_phrase(draws, kinds, case, 2, pronouns=0.0)
    second = noun_phrase(draws, kinds, case, 2, pronouns=0.0)
    attach(second.head, first.head, "conj")
    form, foreign = draws.weighted([(("and", "und"), 4.0), (("or", "oder"), 1.0)])
    conjunction = attach(Word(form, form, "CCONJ", "CC", "_"), second.head, "cc")
    tokens = [*first.german, Token(foreign, (conjunction,)), *second.german]
    english = [*first.english, conjunction, *second.english]
    return Phrase(first.head, english, tokens, "3pl", gender="pl")
