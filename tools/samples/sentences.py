"""Whole sentences of the sample grammar: statements, questions, commands, and what is put first."""

from dataclasses import dataclass

from tools.samples import german
from tools.samples.clauses import PERSON, Clause, add_time, clause, relative_clause
from tools.samples.lexicon import Verb, adjectives, verbs
from tools.samples.phrases import (
    adjective_word,
    adverb,
    common_noun,
    noun_phrase,
    place,
    prepositional,
)
from tools.samples.pieces import Draws, Phrase, Token, Word, attach, chunked, punctuation
from tools.samples.verbs import VerbGroup, add_negation, be, english_verb, passive

_SUBORDINATORS = [
    (("because", "weil"), 3.0),
    (("if", "wenn"), 2.0),
    (("while", "während"), 2.0),
    (("before", "bevor"), 1.5),
    (("although", "obwohl"), 1.0),
]


@dataclass
class Made:
    """A sentence in both languages: English words with their heads, German tokens with links."""

    english: list[Word]
    german: list[Token]


def sentence(draws: Draws) -> Made:
    """One sentence; the weights say how often each rule is used."""
    rule = draws.weighted(
        [
            (statement, 44.0),
            (fronted_time, 7.0),
            (fronted_clause, 5.0),
            (later_clause, 6.0),
            (coordination, 5.0),
            (shared_subject, 4.0),
            (copula, 8.0),
            (existence, 3.0),
            (passive_statement, 4.0),
            (question, 5.0),
            (wh_question, 6.0),
            (topic, 4.0),
            (extraposition, 5.0),
            (command, 3.0),
            (gladly, 2.0),
        ]
    )
    return rule(draws)


def _made(root: Word, english: list[Word], tokens: list[Token], mark: str = ".") -> Made:
    english = [*english, punctuation(mark, root)]
    tokens = [*_tidy(tokens), Token(mark, (english[-1],))]
    english[0].form = english[0].form[0].upper() + english[0].form[1:]
    if english[0].written:
        english[0].written = english[0].written[0].upper() + english[0].written[1:]
    first = tokens[0]
    tokens[0] = Token(first.form[0].upper() + first.form[1:], first.sure, first.possible)
    return Made(english, tokens)


def _tidy(tokens: list[Token]) -> list[Token]:
    """No comma at the end, and one where two meet; a comma that has a link is kept."""
    kept: list[Token] = []
    for token in tokens:
        if token.form == "," and kept and kept[-1].form == ",":
            kept[-1].sure += token.sure
        else:
            kept.append(token)
    if kept[-1].form == "," and not kept[-1].sure:
        kept.pop()
    return kept


def statement(draws: Draws) -> Made:
    """S -> NP VP."""
    main = clause(draws, 0)
    return _made(main.main, main.english_statement(), main.german_statement())


def fronted_time(draws: Draws) -> Made:
    """Yesterday the man slept: Gestern hat der Mann geschlafen."""
    main = clause(draws, 0, tense="past")
    if not main.time:
        add_time(draws, main, "past")
    first, front = main.english_time, main.time
    main.english_time, main.time = [], []
    comma = [punctuation(",", main.main)] if draws.chance(0.4) else []
    return _made(
        main.main, [*first, *comma, *main.english_statement()], main.german_statement(front)
    )


def _subordinate(draws: Draws, head: Word) -> tuple[list[Word], list[Token]]:
    inner = clause(draws, 1, frames="itdp")
    form, foreign = draws.weighted(_SUBORDINATORS)
    mark = Word(form, form, "SCONJ", "IN", "_", inner.main, "mark")
    chunked("SBAR", [mark])
    attach(inner.main, head, "advcl")
    return [mark, *inner.english_statement()], [Token(foreign, (mark,)), *inner.german_last()]


def fronted_clause(draws: Draws) -> Made:
    """Because he slept, she laughed: Weil er geschlafen hat, hat sie gelacht."""
    main = clause(draws, 1)
    english, tokens = _subordinate(draws, main.main)
    comma = punctuation(",", main.main)
    front = [*tokens, Token(",", (comma,))]
    return _made(
        main.main, [*english, comma, *main.english_statement()], main.german_statement(front)
    )


def later_clause(draws: Draws) -> Made:
    """She laughed because he slept: Sie hat gelacht, weil er geschlafen hat."""
    main = clause(draws, 1)
    english, tokens = _subordinate(draws, main.main)
    return _made(
        main.main,
        [*main.english_statement(), *english],
        [*main.german_statement(), Token(","), *tokens],
    )


def coordination(draws: Draws) -> Made:
    """S -> S, and S."""
    first, second = clause(draws, 1), clause(draws, 1)
    attach(second.main, first.main, "conj")
    comma = punctuation(",", second.main)
    form, foreign = draws.weighted([(("and", "und"), 2.0), (("but", "aber"), 2.0)])
    conjunction = attach(Word(form, form, "CCONJ", "CC", "_"), second.main, "cc")
    english = [*first.english_statement(), comma, conjunction, *second.english_statement()]
    links = [Token(",", (comma,)), Token(foreign, (conjunction,))]
    tokens = [*first.german_statement(), *links, *second.german_statement()]
    return _made(first.main, english, tokens)


def shared_subject(draws: Draws) -> Made:
    """S -> NP VP and VP."""
    first = clause(draws, 1, frames="itp", negatable=False)
    second = clause(draws, 1, subject=first.subject, frames="it", negatable=False)
    assert first.subject is not None
    attach(first.subject.head, first.main, "nsubj")
    second.subject = None
    attach(second.main, first.main, "conj")
    conjunction = attach(Word("and", "and", "CCONJ", "CC", "_"), second.main, "cc")
    english = [*first.english_statement(), conjunction, *second.english_statement()]
    tokens = [*first.german_statement(), Token("und", (conjunction,)), *second.german_statement()]
    return _made(first.main, english, tokens)


def copula(draws: Draws) -> Made:
    """The dog is old; the woman was a teacher; they are in the garden."""
    kind = draws.weighted([("adjective", 4.0), ("noun", 1.5), ("place", 1.5)])
    kinds = PERSON if kind == "noun" else PERSON | {"animal", "thing"}
    subject = noun_phrase(draws, kinds, "nom", 1, pronouns=0.25)
    if kind == "adjective":
        english, tokens, head = _predicate_adjective(draws)
    elif kind == "noun":
        predicate = common_noun(draws, PERSON, "nom", number=subject.person[1:])
        english, tokens, head = predicate.english, predicate.german, predicate.head
    else:
        where = place(draws, subject.head, 1)
        english, tokens, head = where.english, where.german, where.head
    head.head, head.relation = None, "root"
    is_past = draws.chance(0.4)
    verb = be(subject.person, is_past, head, "cop")
    chunked("VP", [verb])
    attach(subject.head, head, "nsubj")
    finite = Token(german.finite("waren" if is_past else "sein", subject.person), (verb,))
    group = VerbGroup(head, [verb])
    if draws.chance(0.12):
        add_negation(draws, group)
        chunked("VP", [verb, *group.negation])
    english = [*subject.english, verb, *group.negation, *english]
    return _made(head, english, [*subject.german, finite, *group.german_negation, *tokens])


def _predicate_adjective(draws: Draws) -> tuple[list[Word], list[Token], Word]:
    found = draws.ranked(adjectives())
    word = adjective_word(found)
    english, tokens = [word], [Token(found.german, (word,))]
    if draws.chance(0.3):
        degree, token = adverb(draws, "degree")
        english.insert(0, attach(degree, word, "advmod"))
        tokens.insert(0, token)
    chunked("ADJP", english)
    return english, tokens, word


def existence(draws: Draws) -> Made:
    """There is a dog in the garden: Es gibt einen Hund im Garten."""
    phrase = common_noun(draws, frozenset(["animal", "thing", "place"]), "acc")
    is_past = draws.chance(0.3)
    root = be(phrase.person, is_past, phrase.head, "root")
    root.tag, root.head = "VERB", None
    attach(phrase.head, root, "nsubj")
    there = Word("there", "there", "PRON", "EX", "_", root, "expl")
    chunked("NP", [there])
    chunked("VP", [root])
    where = place(draws, root, 1)
    form = "gab" if is_past else "gibt"
    tokens = [Token("es", (there,)), Token(form, (root,), (there,))]
    return _made(
        root,
        [there, root, *phrase.english, *where.english],
        [*tokens, *phrase.german, *where.german],
    )


def passive_statement(draws: Draws) -> Made:
    """The dog was seen by the man: Der Hund wurde von dem Mann gesehen."""
    verb = draws.ranked([v for v in verbs() if v.frame[0] == "t" and not v.particle])
    subject = noun_phrase(draws, frozenset(verb.frame[1:]), "nom", 1, pronouns=0.1)
    group = passive(verb, subject.person)
    chunked("VP", group.english)
    main = Clause(group, subject)
    attach(subject.head, main.main, "nsubj:pass")
    if draws.chance(0.6):
        agent = noun_phrase(draws, PERSON, "dat", 1, pronouns=0.1)
        modifier = prepositional("by", "von", agent, "obl:agent", main.main)
        main.english, main.objects = modifier.english, modifier.german
    if draws.chance(0.5):
        add_time(draws, main, "past")
    return _made(main.main, main.english_statement(), main.german_statement())


def question(draws: Draws) -> Made:
    """Did the man see the dog? Hat der Mann den Hund gesehen?"""
    main = clause(draws, 1, question=True)
    return _made(main.main, main.english_question(), main.german_statement([]), "?")


def wh_question(draws: Draws) -> Made:
    """Who slept? What did he want to see? Where did he sleep? The second has crossing arcs."""
    kind = draws.weighted([("subject", 2.0), ("object", 2.0), ("far", 4.0), ("where", 2.0)])
    form, foreign, case = {
        "subject": ("who", "wer", "nom"),
        "where": ("where", "wo", ""),
    }.get(kind, draws.weighted([(("what", "was", "acc"), 3.0), (("who", "wen", "acc"), 1.0)]))
    tag, penn = ("ADV", "WRB") if kind == "where" else ("PRON", "WP")
    word = Word(form, form, tag, penn, "PronType=Int")
    chunked("ADVP" if kind == "where" else "NP", [word])
    kinds = frozenset(["person" if form == "who" else "thing"])
    phrase = Phrase(word, [word], [Token(foreign, (word,))], kinds=kinds)
    if kind == "subject":
        main = clause(draws, 1, subject=phrase, negatable=False)
        return _made(main.main, main.english_statement(), main.german_statement(), "?")
    if kind == "where":
        main = clause(draws, 2, question=True, frames="itd")
        attach(word, main.main, "advmod")
    else:
        frames = "xc" if kind == "far" else "td"
        main = clause(draws, 1, question=True, frames=frames, gap=phrase)
    return _made(
        main.main, [word, *main.english_question()], main.german_statement(phrase.german), "?"
    )


def topic(draws: Draws) -> Made:
    """This book the girl wants to read: Dieses Buch will das Mädchen lesen."""
    phrase = common_noun(draws, frozenset(["thing", "animal"]), "acc")
    phrase.kinds &= {"thing", "animal", "food", "read"}
    main = clause(draws, 1, frames="x" if draws.chance(0.6) else "t", gap=phrase)
    english = [*phrase.english, *main.english_statement()]
    return _made(main.main, english, main.german_statement(phrase.german))


def extraposition(draws: Draws) -> Made:
    """A man came yesterday who carried a hat: Ein Mann ist gestern gekommen, der ..."""
    subject = common_noun(draws, PERSON, "nom")
    main = clause(draws, 1, subject=subject, frames="i", tense="past", negatable=False)
    english, tokens = relative_clause(draws, subject, 0)
    return _made(
        main.main,
        [*main.english_statement(), *english],
        [*main.german_statement(), *tokens],
    )


def command(draws: Draws) -> Made:
    """Open the door! Öffnen Sie die Tür!"""
    verb = draws.ranked([v for v in verbs() if v.frame[0] == "t" and v.english != "like"])
    main = Clause(VerbGroup(english_verb(verb, "VB")))
    main.main.features = "Mood=Imp|VerbForm=Fin"
    chunked("VP", [main.main])
    phrase = common_noun(draws, frozenset(verb.frame[1:]), "acc")
    attach(phrase.head, main.main, "obj")
    particle = []
    if verb.particle:
        particle = [Word(verb.particle, verb.particle, "ADP", "RP", "_", main.main, "compound:prt")]
        chunked("PRT", particle)
    # Where English has no particle, the prefix belongs to the verb.
    close = [Token(verb.prefix, tuple(particle or [main.main]))] if verb.prefix else []
    finite = Token(verb.infinitive, (main.main,))
    tokens = [finite, Token("Sie"), *phrase.german, *close]
    return _made(main.main, [main.main, *particle, *phrase.english], tokens, "!")


def gladly(draws: Draws) -> Made:
    """The girl likes to dance: Das Mädchen tanzt gern. The heads change places."""
    liking: Verb = next(verb for verb in verbs() if verb.english == "like")
    inner = clause(draws, 1, frames="it", tense="present", negatable=False)
    subject = inner.subject
    assert subject is not None
    root = english_verb(liking, "VBZ" if subject.person == "3sg" else "VBP")
    attach(subject.head, root, "nsubj")
    attach(inner.main, root, "xcomp")
    base = inner.main
    base.form, base.penn, base.features = base.lemma, "VB", "VerbForm=Inf"
    to = Word("to", "to", "PART", "TO", "_", base, "mark")
    chunked("VP", [root, to, base])
    inner.time.append(Token("gern", (root,)))
    english = [*subject.english, root, to, base, *inner.rest]
    return _made(root, english, inner.german_statement())
