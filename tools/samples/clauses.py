"""Clauses of the sample grammar: a verb, its subject, objects and modifiers, in both orders.

English keeps subject, verb, object. German puts the finite verb second in a statement, first in a
question and last in a subordinate clause, and other verb forms at the end.
"""

from dataclasses import dataclass, field

from tools.samples import german
from tools.samples.lexicon import Verb, verbs
from tools.samples.phrases import adverb, common_noun, noun_phrase, place, prepositional
from tools.samples.pieces import Draws, Phrase, Token, Word, attach, chunked
from tools.samples.verbs import (
    TENSES,
    VerbGroup,
    english_verb,
    infinitive_tokens,
    link_particle,
    verb_group,
)

PERSON = frozenset(["person"])
_INSTRUMENTS = {
    "look": {"see", "watch", "find", "admire"},
    "tool": {"cut", "saw", "repair", "open", "fix", "eat", "break", "draw", "paint", "write"},
}
_DAYS = [
    ("Monday", "Montag"),
    ("Friday", "Freitag"),
    ("Sunday", "Sonntag"),
    ("Tuesday", "Dienstag"),
]
_TIMES = [("morning", "Morgen", "am"), ("evening", "Abend", "am"), ("summer", "Sommer", "im")]


@dataclass
class Clause:
    """A clause before it is put in order; the lists hold what follows the verb, by function."""

    group: VerbGroup
    subject: Phrase | None = None
    english: list[Word] = field(default_factory=list)
    english_time: list[Word] = field(default_factory=list)
    english_late: list[Word] = field(default_factory=list)
    pronouns: list[Token] = field(default_factory=list)
    time: list[Token] = field(default_factory=list)
    objects: list[Token] = field(default_factory=list)
    places: list[Token] = field(default_factory=list)
    late: list[Token] = field(default_factory=list)

    @property
    def main(self) -> Word:
        """The English verb, head of the clause."""
        return self.group.main

    @property
    def rest(self) -> list[Word]:
        """English after the verb."""
        return [*self.english, *self.english_time, *self.english_late]

    @property
    def middle(self) -> list[Token]:
        """German between the finite verb (or the subject) and what closes the clause."""
        negation = self.group.german_negation
        first = [*self.pronouns, *self.group.reflexive, *self.time]
        return [*first, *self.objects, *negation, *self.places]

    def english_statement(self) -> list[Word]:
        """Subject, verb group, the rest."""
        return [*_english(self.subject), *self.group.english, *self.rest]

    def english_question(self) -> list[Word]:
        """Auxiliary, subject, verb, the rest."""
        first, *others = self.group.english
        return [first, *_english(self.subject), *others, *self.rest]

    def german_statement(self, front: list[Token] | None = None) -> list[Token]:
        """The finite verb second, after the subject or `front`; first if `front` is empty."""
        subject = _german(self.subject)
        before, after = (subject, []) if front is None else (front, subject)
        closing = [*self.group.closing, *self.late]
        return [*before, self.group.finite, *after, *self.middle, *closing]

    def german_last(self) -> list[Token]:
        """The finite verb last, joined with its prefix."""
        finite, closing = self.group.finite, self.group.closing
        if self.group.prefix:
            prefix, *closing = closing
            sure = (*finite.sure, *(word for word in prefix.sure if word not in finite.sure))
            finite = Token(prefix.form + finite.form, sure, finite.possible)
        return [*_german(self.subject), *self.middle, *closing, finite, *self.late]


def _english(phrase: Phrase | None) -> list[Word]:
    return phrase.english if phrase else []


def _german(phrase: Phrase | None) -> list[Token]:
    return phrase.german if phrase else []


def clause(
    draws: Draws,
    depth: int,
    *,
    subject: Phrase | None = None,
    frames: str = "itdcxp",
    tense: str = "",
    gap: Phrase | None = None,
    question: bool = False,
    negatable: bool = True,
) -> Clause:
    """A clause with a verb of one of the frames; a gap is its object, which stands elsewhere."""
    allowed = [verb for verb in verbs() if verb.frame[0] in frames]
    allowed = [verb for verb in allowed if depth < 2 or verb.frame[0] in "itdp"]
    verb = draws.ranked(_taking(gap, allowed))
    if subject is None:
        is_animal = verb.frame[0] in "it" and draws.chance(0.2)
        kinds = frozenset(["animal"]) if is_animal else PERSON
        subject = noun_phrase(draws, kinds, "nom", depth, pronouns=0.3)
        maybe_relative(draws, subject, depth, 0.07)
    tense = tense or draws.weighted(TENSES)
    if verb.english in ("want", "like", "know", "love") and tense not in ("present", "past"):
        tense = "past"
    negated = negatable and not question and draws.chance(0.09)
    group = verb_group(draws, verb, subject.person, tense, negated=negated, question=question)
    chunked("VP", group.english)
    built = Clause(group, subject)
    attach(subject.head, built.main, "nsubj")
    add_complements(draws, built, verb, depth, tense, gap)
    add_adjuncts(draws, built, verb, depth, tense)
    link_particle(group, [group.finite, *group.closing])
    return built


def _taking(gap: Phrase | None, choices: list[Verb]) -> list[Verb]:
    """The verbs that can have the gap as their object."""
    if gap is None or not gap.kinds:
        return choices
    return [v for v in choices if v.frame[0] != "t" or gap.kinds & set(v.frame[1:])]


def add_complements(
    draws: Draws, built: Clause, verb: Verb, depth: int, tense: str, gap: Phrase | None
) -> None:
    """The objects that the frame of the verb asks for."""
    frame = verb.frame[0]
    if frame == "t":
        _add_object(draws, built, verb, depth, gap)
    elif frame == "d":
        _add_two_objects(draws, built, depth, gap)
    elif frame == "c":
        _add_that_clause(draws, built, depth, gap)
    elif frame == "x":
        _add_infinitive(draws, built, verb, depth, tense, gap)
    elif frame == "p":
        _add_prepositional_object(draws, built, verb, depth)
    elif verb.particle:
        built.english.append(_particle(verb, built))


def _particle(verb: Verb, built: Clause) -> Word:
    word = Word(verb.particle, verb.particle, "ADP", "RP", "_", built.main, "compound:prt")
    chunked("PRT", [word])
    built.group.particle = word
    return word


def _add_object(draws: Draws, built: Clause, verb: Verb, depth: int, gap: Phrase | None) -> None:
    particle = [_particle(verb, built)] if verb.particle else []
    if gap is not None:
        attach(gap.head, built.main, "obj")
        built.english += particle
        return
    kinds = frozenset(verb.frame[1:])
    phrase = noun_phrase(draws, kinds, "acc", depth, pronouns=0.12)
    attach(phrase.head, built.main, "obj")
    if phrase.is_pronoun or draws.chance(0.4):
        built.english += [*phrase.english, *particle]
    else:
        built.english += [*particle, *phrase.english]
    maybe_extraposed_relative(draws, built, phrase, depth)
    (built.pronouns if phrase.is_pronoun else built.objects).extend(phrase.german)


def _add_two_objects(draws: Draws, built: Clause, depth: int, gap: Phrase | None) -> None:
    """Gave the man the book, or: gave the book to the man."""
    receiver = noun_phrase(draws, PERSON, "dat", depth, pronouns=0.35)
    thing = gap or noun_phrase(draws, frozenset(["thing"]), "acc", depth, pronouns=0.0)
    attach(thing.head, built.main, "obj")
    given = [] if gap else thing.english
    tokens = [] if gap else thing.german
    built.objects = [*receiver.german, *tokens]
    if receiver.is_pronoun or draws.chance(0.5):
        attach(receiver.head, built.main, "iobj")
        built.english = [*receiver.english, *given]
    else:
        # German has a case where English has `to`, which is left without a sure link.
        german_receiver = receiver.german
        to = prepositional("to", "", receiver, "obl", built.main)
        german_receiver[0].possible += (to.english[0],)
        built.english = [*given, *to.english]


def _add_that_clause(draws: Draws, built: Clause, depth: int, gap: Phrase | None) -> None:
    """Says (that) S; German never leaves `dass` out."""
    inner = clause(draws, depth + 1, frames="t" if gap else "itdp", gap=gap)
    attach(inner.main, built.main, "ccomp")
    mark = Word("that", "that", "SCONJ", "IN", "_", inner.main, "mark")
    chunked("SBAR", [mark])
    is_said = gap is None and draws.chance(0.75)
    built.english_late = [*([mark] if is_said else []), *inner.english_statement()]
    that = Token("dass", (mark,)) if is_said else Token("dass")
    built.late = [Token(","), that, *inner.german_last(), Token(",")]


def _add_infinitive(
    draws: Draws, built: Clause, verb: Verb, depth: int, tense: str, gap: Phrase | None
) -> None:
    """Wants to see: will sehen; tries to see: versucht, zu sehen."""
    choices = [v for v in verbs() if v.frame[0] in ("t" if gap else "itp")]
    choices = [v for v in choices if not v.is_reflexive]
    inner_verb = draws.ranked(_taking(gap, choices))
    inner = Clause(VerbGroup(english_verb(inner_verb, "VB")))
    attach(inner.main, built.main, "xcomp")
    to = Word("to", "to", "PART", "TO", "_", inner.main, "mark")
    chunked("VP", [*built.group.english, to, inner.main])
    add_complements(draws, inner, inner_verb, depth + 1, tense, gap)
    built.english_late = [to, inner.main, *inner.rest]
    is_modal = verb.english == "want"
    infinitive = infinitive_tokens(inner_verb, inner.main, to, not is_modal)
    link_particle(inner.group, infinitive)
    if is_modal:
        person = built.subject.person if built.subject else "3sg"
        form = german.finite("wanted" if tense == "past" else "want", person)
        built.group.finite = Token(form, (built.main,), tuple(built.group.auxiliaries))
        built.group.closing = [*infinitive, *inner.late]
        built.pronouns += inner.pronouns
        built.objects += [*inner.objects, *inner.places]
    else:
        built.late = [Token(","), *inner.middle, *infinitive, *inner.late, Token(",")]


def _add_prepositional_object(draws: Draws, built: Clause, verb: Verb, depth: int) -> None:
    """Waits for: wartet auf; looks for: sucht; remembers: erinnert sich an."""
    _, preposition, foreign, *kinds = verb.frame
    german_preposition, _, case = foreign.partition("+")
    phrase = noun_phrase(draws, frozenset(kinds), case, depth, pronouns=0.0)
    if preposition == "+":
        attach(phrase.head, built.main, "obj")
        built.english += phrase.english
        inserted = Token(german_preposition, (), (built.main,))
        built.objects += [inserted, *phrase.german]
        return
    modifier = prepositional(preposition, german_preposition, phrase, "obl", built.main)
    built.english += modifier.english
    built.objects += modifier.german
    if not german_preposition:
        word = modifier.english[0]
        for token in [built.group.finite, *built.group.closing]:
            if built.main in token.sure:
                token.sure += (word,)


def add_adjuncts(draws: Draws, built: Clause, verb: Verb, depth: int, tense: str) -> None:
    """Manner, instrument, place and time."""
    if verb.frame[0] in "xc" or depth > 1:
        return
    if draws.chance(0.15):
        word, token = adverb(draws, "manner")
        built.english.append(attach(word, built.main, "advmod"))
        built.places.append(token)
    for kind, users in _INSTRUMENTS.items():
        if verb.english in users and draws.chance(0.25):
            kinds = frozenset([kind])
            tool = common_noun(draws, kinds, "dat")
            modifier = prepositional("with", "mit", tool, "obl", built.main)
            built.english += modifier.english
            built.places += modifier.german
            break
    if draws.chance(0.3):
        where = place(draws, built.main, depth)
        built.english += where.english
        built.places += where.german
    elif draws.chance(0.1):
        word, token = adverb(draws, "place")
        built.english.append(attach(word, built.main, "advmod"))
        built.places.append(token)
    if draws.chance(0.1):
        _add_frequency(draws, built)
    elif not built.english_time and draws.chance(0.25):
        add_time(draws, built, tense)


def _add_frequency(draws: Draws, built: Clause) -> None:
    """Always sleeps; has often slept, where the adverb joins the chunk of the verbs."""
    word, token = adverb(draws, "frequency")
    built.group.adverbs = [attach(word, built.main, "advmod")]
    built.time.append(token)
    if built.group.auxiliaries:
        chunked("VP", built.group.english)


def add_time(draws: Draws, built: Clause, tense: str) -> None:
    """Yesterday; on Monday; in the morning; every day; in 1987."""
    phrase = _time(draws, built.main, tense == "past")
    built.english_time, built.time = phrase.english, phrase.german


def _time(draws: Draws, head: Word, is_past: bool) -> Phrase:
    if draws.chance(0.6):
        word, token = adverb(draws, "past" if is_past and draws.chance(0.5) else "time")
        return Phrase(attach(word, head, "advmod"), [word], [token])
    kind = draws.weighted([("day", 3.0), ("time", 3.0), ("every", 2.0), ("year", 2.0)])
    if kind == "every":
        day = Word("day", "day", "NOUN", "NN", "Number=Sing", head, "obl")
        every = Word("every", "every", "DET", "DT", "PronType=Tot", day, "det")
        chunked("NP", [every, day])
        return Phrase(day, [every, day], [Token("jeden", (every,)), Token("Tag", (day,))])
    if kind == "day":
        name, foreign = draws.ranked(_DAYS)
        word = Word(name, name, "PROPN", "NNP", "Number=Sing")
        return _fixed_time("on", [word], [Token("am"), Token(foreign, (word,))], head)
    if kind == "time":
        name, foreign, preposition = draws.ranked(_TIMES)
        word = Word(name, name, "NOUN", "NN", "Number=Sing")
        the = Word("the", "the", "DET", "DT", "Definite=Def|PronType=Art", word, "det")
        tokens = [Token(preposition, (the,)), Token(foreign, (word,))]
        return _fixed_time("in", [the, word], tokens, head)
    year = str(draws.number(1950, 2020))
    word = Word(year, year, "NUM", "CD", "NumType=Card")
    return _fixed_time("in", [word], [Token("im"), Token("Jahr"), Token(year, (word,))], head)


def _fixed_time(preposition: str, words: list[Word], tokens: list[Token], head: Word) -> Phrase:
    noun = attach(words[-1], head, "obl")
    case = Word(preposition, preposition, "ADP", "IN", "_", noun, "case")
    chunked("PP", [case])
    chunked("NP", words)
    tokens[0].sure = (case, *tokens[0].sure)
    return Phrase(noun, [case, *words], tokens)


def maybe_relative(draws: Draws, phrase: Phrase, depth: int, probability: float) -> None:
    """NP -> NP relative clause, beside it."""
    if depth < 2 and phrase.head.tag == "NOUN" and draws.chance(probability):
        english, tokens = relative_clause(draws, phrase, depth)
        phrase.english += english
        phrase.german += tokens


def maybe_extraposed_relative(draws: Draws, built: Clause, phrase: Phrase, depth: int) -> None:
    """A relative clause of the object: beside it, or after the time, so that arcs cross."""
    if depth > 0 or phrase.head.tag != "NOUN" or not draws.chance(0.12):
        return
    english, tokens = relative_clause(draws, phrase, depth)
    if draws.chance(0.6):
        add_time(draws, built, "past")
    built.english_late, built.late = english, tokens


def relative_clause(draws: Draws, phrase: Phrase, depth: int) -> tuple[list[Word], list[Token]]:
    """Who saw the dog; that the man saw; the man saw."""
    is_person = "person" in phrase.kinds
    is_object = draws.chance(0.4)
    form = draws.weighted([("who" if is_person else "which", 2.0), ("that", 1.5)])
    if is_object and form == "who":
        form = "that"
    penn = "WP" if form == "who" else "WDT"
    pronoun = Word(form, form, "PRON", penn, "PronType=Rel")
    chunked("NP", [pronoun])
    case = "acc" if is_object else "nom"
    foreign = Token(german.determiner("the", phrase.gender, case), (pronoun,))
    relative = Phrase(pronoun, [pronoun], [foreign], phrase.person, kinds=phrase.kinds)
    if not is_object:
        inner = clause(draws, depth + 2, subject=relative, frames="itp", negatable=False)
        english, tokens = inner.english_statement(), inner.german_last()
    else:
        inner = clause(draws, depth + 2, frames="t", gap=relative, negatable=False)
        if draws.chance(0.25):
            relative.english, foreign.sure = [], ()
        english = [*relative.english, *inner.english_statement()]
        tokens = [foreign, *inner.german_last()]
    attach(inner.main, phrase.head, "acl:relcl")
    return english, [Token(","), *tokens, Token(",")]
