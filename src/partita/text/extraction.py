"""From sentences to attributes by templates, for a whole corpus at once.

Each different value of a column is looked at once (`ColumnViews`). Of training data, what a
template sees at all words is then a few operations on arrays: gather the codes of each field at its
offset, and combine them into one key a word (`Combination`). New sentences take one call of a
kernel (`TemplateLookup`).
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from partita.arrays import Array, IntArray
from partita.kept import kept_array
from partita.kernels.features import keys as key_kernels
from partita.kernels.features.keys import ABSENT
from partita.text.attributes import Attributes
from partita.text.column_views import ColumnViews
from partita.text.field_codes import FieldCodes, field_size
from partita.text.fields import Field, Template
from partita.text.keys import LARGEST, Combination, KeyTable
from partita.text.lookup import TemplateLookup, ViewedWords
from partita.text.word_columns import WordColumn, with_columns
from partita.text.word_features import Encoded, WordFeatures
from partita.text.words import Form, Words

KeyCounts = tuple[IntArray, IntArray]
"""The different keys of a template, in ascending order, and how often each occurs."""
Ranks = NDArray[np.int32]
"""The place of each word's key among these, -1 for none; (most that a word has, n_words)."""


class TemplateFeatures(WordFeatures):
    r"""The attributes that templates make; built on training data, then frozen.

    >>> from partita.text.templates import parse_templates
    >>> from partita.text.words import read_words
    >>> words = read_words([["the", "dog"], ["the", "cat"]])
    >>> templates = parse_templates("FORM[0]\nFORM[-1]")
    >>> features, encoded = TemplateFeatures.build(templates, words, min_count=2)
    >>> [features.name(number) for number in range(features.n_attributes)]
    ['FORM[0]=the', 'FORM[-1]=the', 'FORM[-1]=_B-1']
    >>> encoded.words.ids
    array([0, 2, 1, 0, 2, 1], dtype=int32)
    """

    form: ClassVar[Form] = "columns"

    def __init__(
        self,
        templates: Sequence[Template],
        seen: Mapping[str, ColumnViews],
        combinations: Sequence[Combination],
        tables: Sequence[KeyTable],
        added: Sequence[WordColumn] = (),
    ) -> None:
        self.templates = tuple(templates)
        self.seen = dict(seen)
        self.added = tuple(added)
        own = {each.name for each in self.added}
        self.columns = tuple(name for name in self.seen if name not in own)
        self._combinations = list(combinations)
        self._tables = list(tables)
        self.n_attributes = self._count(transition=False)
        self.n_transition_attributes = self._count(transition=True)

    @classmethod
    def build(
        cls,
        templates: Sequence[Template],
        words: Words,
        min_count: int | Sequence[int] = 1,
        added: Sequence[WordColumn] = (),
    ) -> "tuple[TemplateFeatures, Encoded]":
        """The attributes that occur at least `min_count` times, and the words' own.

        `min_count` may differ from template to template. Frequent attributes have low numbers, so
        that their weights lie together; ties are in the order of templates and keys. The columns in
        `added` follow from the words, of which training may see others here.
        """
        words = with_columns(words, added)
        seen = _seen(templates, words)
        codes = FieldCodes(words, seen, _reach(templates))
        combinations, found, ranks = _looked_up(templates, codes, _each(min_count, templates))
        del codes
        numbers = _numbered(templates, [counts for _, counts in found])
        tables = [
            KeyTable(known, number, combination.space)
            for (known, _), number, combination in zip(found, numbers, combinations, strict=True)
        ]
        features = cls(templates, seen, combinations, tables, added)
        # What is as long as the text is given back as soon as it was looked at.
        columns = (
            np.append(number, np.int32(ABSENT))[ranks.pop(0)]  # (things that a view sees, words)
            for number in numbers
        )
        return features, features._encoded(words.n_words, columns)

    @classmethod
    def counted(
        cls,
        templates: Sequence[Template],
        seen: Mapping[str, ColumnViews],
        counts: Sequence[KeyCounts],
        min_count: int | Sequence[int] = 1,
        added: Sequence[WordColumn] = (),
    ) -> "TemplateFeatures":
        """From the keys of each template that `count_keys` found in parts of the training data.

        The same as `build` makes of all of them at once.
        """
        reach, tables, combinations = _reach(templates), [], []
        pairs = zip(counts, _each(min_count, templates), strict=True)
        kept = [(keys[n >= least], n[n >= least]) for (keys, n), least in pairs]
        numbers = _numbered(templates, [n for _, n in kept])
        for template, (keys, _), number in zip(templates, kept, numbers, strict=True):
            combination = _combination(template, seen, reach)
            combinations.append(combination)
            tables.append(KeyTable(keys, number, combination.space))
        return cls(templates, seen, combinations, tables, added)

    def encode(self, words: Words) -> Encoded:
        """The known attributes of new sentences."""
        viewed, (of_words, of_steps) = self.viewed(words), self.lookups
        steps = None if of_steps is None else of_steps.attributes(viewed, skipped=1)
        return Encoded(words.n_words, of_words.attributes(viewed), steps)

    def viewed(self, words: Words) -> ViewedWords:
        """What `lookups` look at."""
        return ViewedWords(with_columns(words, self.added), self.seen, _reach(self.templates))

    def name(self, attribute: int, *, transition: bool = False) -> str:
        """An attribute as text: its template and what it saw."""
        of_template, of_key = self._origins[transition]
        index = int(of_template[attribute])
        template = self.templates[index]
        codes = self._combinations[index].codes(int(of_key[attribute]))
        values = [self._value(*pair) for pair in zip(template.fields, codes, strict=True)]
        return f"{template.label}={'|'.join(values)}" if values else template.label

    @cached_property
    def _origins(self) -> dict[bool, tuple[IntArray, IntArray]]:
        """For attributes of words and of transitions: the template of each, and its key there."""
        origins = {}
        for transition, size in ((False, self.n_attributes), (True, self.n_transition_attributes)):
            of_template, of_key = np.empty((2, size), dtype=np.int64)
            for index, table in enumerate(self._tables):
                if self.templates[index].transition == transition:
                    of_template[table.numbers] = index
                    of_key[table.numbers] = table.known
            origins[transition] = of_template, of_key
        return origins

    @cached_property
    def lookups(self) -> tuple[TemplateLookup, TemplateLookup | None]:
        """What finds the attributes of words, and of transitions if there are several tables."""
        return (
            self._lookup(transition=False),
            None if _one_table(self.templates) else self._lookup(transition=True),
        )

    def _lookup(self, *, transition: bool) -> TemplateLookup:
        chosen = [
            number
            for number, template in enumerate(self.templates)
            if template.transition == transition
        ]
        return TemplateLookup(
            [self.templates[number] for number in chosen],
            [self._combinations[number] for number in chosen],
            [self._tables[number] for number in chosen],
        )

    def __getstate__(self) -> dict[str, Any]:
        # What finds attributes is made again, sooner than it is sent.
        return {name: each for name, each in self.__dict__.items() if name != "lookups"}

    def header(self) -> dict[str, Any]:
        """What a model file keeps, beside the arrays."""
        return {
            "templates": [
                {
                    "name": template.name,
                    "transition": template.transition,
                    "fields": [[f.column, f.offset, f.view] for f in template.fields],
                    "n_seen": len(combination.seen),
                }
                for template, combination in zip(self.templates, self._combinations, strict=True)
            ],
            "values": {name: seen.words for name, seen in self.seen.items()},
            "added": [each.header() for each in self.added],
        }

    def arrays(self) -> dict[str, Array]:
        """The arrays that a model file keeps."""
        arrays: dict[str, Array] = {}
        pieces = zip(self._combinations, self._tables, strict=True)
        for index, (combination, table) in enumerate(pieces):
            arrays[f"keys{index}"], arrays[f"numbers{index}"] = table.known, table.numbers
            for step, seen in enumerate(combination.seen):
                arrays[f"seen{index}.{step}"] = seen
        return arrays

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> "TemplateFeatures":
        """From what a model file kept."""
        templates = [
            Template(tuple(Field(*field) for field in t["fields"]), t["transition"], t["name"])
            for t in header["templates"]
        ]
        views = _views(templates)
        seen = {
            name: ColumnViews(values, views.get(name, []))
            for name, values in header["values"].items()
        }
        reach, combinations, tables = _reach(templates), [], []
        for index, (template, entry) in enumerate(zip(templates, header["templates"], strict=True)):
            ranked = [
                kept_array(arrays, f"seen{index}.{step}", np.int64, None)
                for step in range(entry["n_seen"])
            ]
            sizes = [field_size(field, seen, reach) for field in template.fields]
            combination = Combination(sizes, ranked)
            combinations.append(combination)
            space = combination.space
            known = kept_array(arrays, f"keys{index}", np.int64, None, below=space)
            numbers = kept_array(arrays, f"numbers{index}", np.int32, len(known), below=2**31)
            tables.append(KeyTable(known, numbers, space))
        added = [WordColumn.restored(each) for each in header.get("added", ())]
        features = cls(templates, seen, combinations, tables, added)
        for template, table in zip(templates, tables, strict=True):
            size = (
                features.n_transition_attributes if template.transition else features.n_attributes
            )
            kept_array({"numbers": table.numbers}, "numbers", np.int32, None, below=size)
        return features

    def _encoded(self, n_words: IntArray, columns: Iterable[NDArray[np.int32]]) -> Encoded:
        kinds = [template.transition for template in self.templates]
        n_all = int(n_words.sum())
        found: dict[bool, list[NDArray[np.int32]]] = {False: [], True: []}
        for table, transition in zip(columns, kinds, strict=True):
            found[transition].append(table)
        words = _rows(found.pop(False), n_all)
        if _one_table(self.templates):
            return Encoded(n_words, words)
        # The step to a word belongs to it; the first word of a sentence has none.
        starts = np.cumsum(n_words) - n_words
        first = np.zeros(n_all, dtype=np.bool_)
        first[starts[n_words > 0]] = True
        steps = [table[:, ~first] for table in found[True]]
        return Encoded(n_words, words, _rows(steps, int((~first).sum())))

    def _count(self, *, transition: bool) -> int:
        return sum(
            len(table.numbers)
            for template, table in zip(self.templates, self._tables, strict=True)
            if template.transition == transition
        )

    def _value(self, field: Field, code: int) -> str:
        values = self.seen[str(field.column)].values[field.view]
        if code < len(values):
            return values[code]
        reach = _reach(self.templates)
        beyond = code - len(values)
        return f"_B-{beyond + 1}" if beyond < reach else f"_B+{beyond - reach + 1}"


def _each(min_count: int | Sequence[int], templates: Sequence[Template]) -> Sequence[int]:
    """How often the attributes of each template must occur."""
    return [min_count] * len(templates) if isinstance(min_count, int) else min_count


def count_keys(
    templates: Sequence[Template], seen: Mapping[str, ColumnViews], words: Words
) -> list[KeyCounts]:
    """What templates see in a part of the training data, whose values are all among `seen`."""
    reach = _reach(templates)
    codes = FieldCodes(words, seen, reach)
    found = []
    for template in templates:
        combination = _combination(template, seen, reach)
        known, _, counts = _unique(codes.keys(template, combination), combination.space)
        found.append((known, counts))
    return found


def _combination(template: Template, seen: Mapping[str, ColumnViews], reach: int) -> Combination:
    """The keys of a template, all of which fit into one number."""
    sizes = [field_size(field, seen, reach) for field in template.fields]
    if prod(sizes) >= LARGEST:
        raise ValueError(
            f"the template {template.label} combines so many values that they cannot be counted in "
            "parts; expected fewer fields, or sentences in memory instead of files."
        )
    return Combination(sizes)


def views_of(
    templates: Iterable[Template], values: Mapping[str, Sequence[str]]
) -> dict[str, ColumnViews]:
    """What templates can see in columns, by name and different values."""
    views = _views(templates)
    return {name: ColumnViews(column, views.get(name, [])) for name, column in values.items()}


def _seen(templates: Iterable[Template], words: Words) -> dict[str, ColumnViews]:
    return views_of(templates, {name: column.values for name, column in words.columns.items()})


def _views(templates: Iterable[Template]) -> dict[str, list[str]]:
    """The views of each column, in the order of their first use."""
    views: dict[str, dict[str, None]] = {}
    for template in templates:
        for field in template.fields:
            views.setdefault(str(field.column), {})[field.view] = None
    return {column: list(names) for column, names in views.items()}


def _reach(templates: Iterable[Template]) -> int:
    """How far a field may look."""
    return max((abs(field.offset) for t in templates for field in t.fields), default=0)


def _one_table(templates: Iterable[Template]) -> bool:
    """Whether transitions have a single table, the same at all positions."""
    steps = [template for template in templates if template.transition]
    return len(steps) == 1 and not steps[0].fields


def _looked_up(
    templates: Sequence[Template], codes: FieldCodes, min_counts: Sequence[int]
) -> tuple[list[Combination], list[KeyCounts], list[Ranks]]:
    """How each template combines codes, the keys that occur often enough, and the words' own."""
    combinations, found, all_ranks = [], [], []
    for template, least in zip(templates, min_counts, strict=True):
        combination = Combination([codes.size(field) for field in template.fields])
        keys = codes.keys(template, combination, learn=True)
        known, ranks, counts = _frequent(*_unique(keys, combination.space), least)
        combinations.append(combination)
        found.append((known, counts))
        all_ranks.append(ranks)
    return combinations, found, all_ranks


def _unique(keys: IntArray, space: int) -> tuple[IntArray, Ranks, IntArray]:
    """The different keys in order, for each place its rank (-1 for none), and their counts."""
    present = keys >= 0
    if space <= 4 * keys.size + 2**16:
        all_counts = np.bincount(keys[present], minlength=space)
        known = np.flatnonzero(all_counts)
        table = np.full(space + 1, ABSENT, dtype=np.int32)
        table[known] = np.arange(len(known), dtype=np.int32)
        return known, table[keys], all_counts[known]
    known, inverse, counts = np.unique(keys[present], return_inverse=True, return_counts=True)
    places = np.full(keys.shape, ABSENT, dtype=np.int32)
    places[present] = inverse
    return known, places, counts


def _frequent(
    known: IntArray, places: Ranks, counts: IntArray, min_count: int
) -> tuple[IntArray, Ranks, IntArray]:
    """Only the keys with enough occurrences."""
    if min_count <= 1:
        return known, places, counts
    kept = counts >= min_count
    new = np.append(np.where(kept, np.cumsum(kept) - 1, ABSENT), ABSENT).astype(np.int32)
    return known[kept], new[places], counts[kept]


def _numbered(templates: Sequence[Template], counts: Sequence[IntArray]) -> list[NDArray[np.int32]]:
    """Numbers for the keys of each template, most frequent first; words and transitions apart."""
    numbers = [np.zeros(len(count), dtype=np.int32) for count in counts]
    for transition in (False, True):
        chosen = [i for i, template in enumerate(templates) if template.transition == transition]
        if not chosen:
            continue
        together = np.concatenate([counts[i] for i in chosen])
        ranks = np.empty(len(together), dtype=np.int32)
        ranks[np.argsort(-together, kind="stable")] = np.arange(len(together), dtype=np.int32)
        ends = np.cumsum([len(counts[i]) for i in chosen])
        for i, piece in zip(chosen, np.split(ranks, ends[:-1]), strict=True):
            numbers[i] = piece
    return numbers


def _rows(tables: list[NDArray[np.int32]], n_rows: int) -> Attributes:
    """Attributes from the numbers (or -1) that each template has for each row; empties the list."""
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    if not tables:
        return Attributes(np.zeros(0, dtype=np.int32), offsets)
    columns = np.concatenate(tables)
    tables.clear()
    key_kernels.count_rows(columns, offsets)
    ids = np.empty(offsets[-1], dtype=np.int32)
    key_kernels.fill_rows(columns, offsets, ids)
    return Attributes(ids, offsets)
