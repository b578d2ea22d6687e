"""Verb groups of the sample grammar: auxiliaries, negation and the verb, in both languages."""

from dataclasses import dataclass, field

from tools.samples import german
from tools.samples.lexicon import Verb
from tools.samples.pieces import Draws, Token, Word, attach

_BE = {"1sg": "am", "3sg": "is"}
_SHORT = {"can": "ca", "will": "wo"}
_VERB_FEATURES = {
    "VB": "VerbForm=Inf",
    "VBP": "Mood=Ind|Tense=Pres|VerbForm=Fin",
    "VBZ": "Mood=Ind|Number=Sing|Person=3|Tense=Pres|VerbForm=Fin",
    "VBD": "Mood=Ind|Tense=Past|VerbForm=Fin",
    "VBN": "Tense=Past|VerbForm=Part",
    "VBG": "Tense=Pres|VerbForm=Part",
    "MD": "VerbForm=Fin",
}
MODALS = [("can", 4.0), ("must", 2.0), ("will", 2.5), ("should", 1.5), ("may", 1.0)]
TENSES = [
    ("present", 28.0),
    ("past", 36.0),
    ("modal", 16.0),
    ("progressive", 8.0),
    ("perfect", 8.0),
]


@dataclass
class VerbGroup:
    """English auxiliaries, negation, adverbs and verb; German finite verb and closing words.

    `prefix` separates from the finite verb in a statement and joins it at the end of a clause.
    """

    main: Word
    auxiliaries: list[Word] = field(default_factory=list)
    negation: list[Word] = field(default_factory=list)
    adverbs: list[Word] = field(default_factory=list)
    finite: Token = field(default_factory=lambda: Token(""))
    closing: list[Token] = field(default_factory=list)
    reflexive: list[Token] = field(default_factory=list)
    prefix: str = ""
    particle: Word | None = None

    @property
    def english(self) -> list[Word]:
        """All English words in the order of a statement."""
        return [*self.auxiliaries, *self.negation, *self.adverbs, self.main]

    @property
    def german_negation(self) -> list[Token]:
        """`nicht`, if there is a negation."""
        return [Token("nicht", (word,)) for word in self.negation]


def english_verb(verb: Verb, penn: str) -> Word:
    """A verb in the form of its Penn tag."""
    forms = {"VBZ": verb.third_person, "VBD": verb.past, "VBN": verb.participle}
    forms["VBG"] = verb.progressive
    return Word(forms.get(penn, verb.english), verb.english, "VERB", penn, _VERB_FEATURES[penn])


def auxiliary(form: str, lemma: str, penn: str, head: Word, relation: str = "aux") -> Word:
    """An auxiliary verb below the verb that it helps."""
    return attach(Word(form, lemma, "AUX", penn, _VERB_FEATURES[penn]), head, relation)


def be(person: str, is_past: bool, head: Word, relation: str) -> Word:
    """A form of `be` that agrees with the subject."""
    is_plural = person.endswith("pl")
    form = ("were" if is_plural else "was") if is_past else _BE.get(person, "are")
    return auxiliary(form, "be", _penn(person, is_past), head, relation)


def _penn(person: str, is_past: bool) -> str:
    return "VBD" if is_past else "VBZ" if person == "3sg" else "VBP"


def verb_group(
    draws: Draws, verb: Verb, person: str, tense: str, *, negated: bool, question: bool
) -> VerbGroup:
    """The verb in a tense: present, past, modal, progressive or perfect."""
    group = _RULES[tense](draws, verb, person, negated or question)
    if negated:
        add_negation(draws, group)
    if verb.is_reflexive:
        group.reflexive = [Token(german.reflexive(person), (), (group.main,))]
    return group


def add_negation(draws: Draws, group: VerbGroup) -> None:
    """Not, or n't joined to the auxiliary before it."""
    first = group.auxiliaries[0]
    word = Word("not", "not", "PART", "RB", "Polarity=Neg", group.main, "advmod")
    if first.form not in ("am", "may") and draws.chance(0.5):
        word.form = "n't"
        first.form = _SHORT.get(first.form, first.form)
        first.written = first.form + "n't"
    group.negation = [word]


def _present(draws: Draws, verb: Verb, person: str, supported: bool) -> VerbGroup:
    penn = "VB" if supported else _penn(person, False)
    group = VerbGroup(english_verb(verb, penn), prefix=_separable(verb))
    if supported:
        form = "does" if person == "3sg" else "do"
        group.auxiliaries = [auxiliary(form, "do", _penn(person, False), group.main)]
    _finish_present(group, verb, person)
    return group


def _progressive(draws: Draws, verb: Verb, person: str, supported: bool) -> VerbGroup:
    group = VerbGroup(english_verb(verb, "VBG"), prefix=_separable(verb))
    group.auxiliaries = [be(person, False, group.main, "aux")]
    _finish_present(group, verb, person)
    return group


def _finish_present(group: VerbGroup, verb: Verb, person: str) -> None:
    possible = tuple(group.auxiliaries)
    group.finite = Token(german.present(verb, person), (group.main,), possible)
    if group.prefix:
        group.closing = [Token(group.prefix, (group.main,))]


def _past(draws: Draws, verb: Verb, person: str, supported: bool) -> VerbGroup:
    group = VerbGroup(english_verb(verb, "VB" if supported else "VBD"))
    if supported:
        group.auxiliaries = [auxiliary("did", "do", "VBD", group.main)]
    _finish_perfect(group, verb, person)
    return group


def _perfect(draws: Draws, verb: Verb, person: str, supported: bool) -> VerbGroup:
    group = VerbGroup(english_verb(verb, "VBN"))
    form = "has" if person == "3sg" else "have"
    group.auxiliaries = [auxiliary(form, "have", _penn(person, False), group.main)]
    _finish_perfect(group, verb, person)
    return group


def _finish_perfect(group: VerbGroup, verb: Verb, person: str) -> None:
    form = german.finite("sein" if verb.auxiliary == "s" else "haben", person)
    helper = tuple(group.auxiliaries)
    group.finite = Token(form, helper, () if helper else (group.main,))
    group.closing = [Token(verb.german_participle, (group.main,))]


def _modal(draws: Draws, verb: Verb, person: str, supported: bool) -> VerbGroup:
    form = draws.weighted(MODALS)
    group = VerbGroup(english_verb(verb, "VB"))
    group.auxiliaries = [auxiliary(form, form, "MD", group.main)]
    group.finite = Token(german.finite(form, person), tuple(group.auxiliaries))
    group.closing = [Token(_separable(verb) + verb.infinitive, (group.main,))]
    return group


def passive(verb: Verb, person: str) -> VerbGroup:
    """Was seen: wurde gesehen."""
    group = VerbGroup(english_verb(verb, "VBN"))
    group.auxiliaries = [be(person, True, group.main, "aux:pass")]
    group.finite = Token(german.finite("wurden", person), tuple(group.auxiliaries))
    group.closing = [Token(verb.german_participle, (group.main,))]
    return group


def _separable(verb: Verb) -> str:
    return "" if verb.is_reflexive else verb.prefix


def link_particle(group: VerbGroup, tokens: list[Token]) -> None:
    """Link an English particle with the German prefix, or the word that holds it."""
    if group.particle is None:
        return
    for token in tokens:
        if group.prefix and token.form == group.prefix:
            token.sure, token.possible = (group.particle,), (group.main,)
        elif not group.prefix and group.main in token.sure:
            token.sure += (group.particle,)


def infinitive_tokens(verb: Verb, main: Word, to: Word, with_zu: bool) -> list[Token]:
    """The German infinitive, with `zu` before it, or inside it if its prefix separates."""
    prefix = _separable(verb)
    if not with_zu:
        return [Token(prefix + verb.infinitive, (main,), (to,))]
    if prefix:
        return [Token(prefix + "zu" + verb.infinitive, (main,), (to,))]
    return [Token("zu", (to,)), Token(verb.infinitive, (main,))]


_RULES = {
    "present": _present,
    "past": _past,
    "modal": _modal,
    "progressive": _progressive,
    "perfect": _perfect,
}
