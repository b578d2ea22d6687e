"""The data of the demonstration: what ships with the package."""

import numpy as np

from partita import samples
from partita.data.dependencies import tree_heads
from partita.demo.page import Section, table
from partita.demo.settings import Settings
from partita.structures.tree_tools import is_projective


def section(settings: Settings) -> Section:
    """How much there is of it."""
    treebank = {part: samples.treebank(part) for part in samples.PARTS}
    pairs = {part: samples.bitext(part) for part in samples.PARTS}
    n_crossing = sum(
        not is_projective(np.array(tree_heads(sentence)))
        for sentences in treebank.values()
        for sentence in sentences
    )
    n_sentences = sum(map(len, treebank.values()))
    rows = [
        (f"treebank, {part}", f"{len(sentences):,}", f"{sum(map(len, sentences)):,}")
        for part, sentences in treebank.items()
    ]
    for part, found in pairs.items():
        n_words = sum(len(each.pair.source) for each in found)
        rows.append((f"English and German, {part}", f"{len(found):,}", f"{n_words:,}"))
    settings.say(
        f"Read {n_sentences} sentences with trees and {sum(map(len, pairs.values()))} pairs."
    )
    example = next(sentence for sentence in treebank["train"] if 6 <= len(sentence) <= 9)
    columns = ("FORM", "UPOS", "HEAD", "DEPREL", "CHUNK")
    words = list(zip(*(example.column(name) for name in columns), strict=True))
    return Section(
        name="data",
        title="The data",
        what=(
            "All data of this report ship with the package. They are made up: a small grammar of "
            "English and German drew them with a fixed seed, so tags, trees and links are right by "
            "construction, and accuracies say nothing about real text."
        ),
        see=(
            f"{n_crossing} of the {n_sentences} trees have crossing arcs, which is why the parser "
            "below works with spanning trees."
        ),
        same=(
            "from partita import samples\n"
            'sentences = samples.treebank("train")\n'
            'pairs = samples.bitext("train")'
        ),
        blocks=[
            table(("part", "sentences", "words (English)"), rows),
            table(("word", "tag", "head", "relation", "chunk"), words, "One sentence of it"),
        ],
        headline=(f"{n_sentences + sum(map(len, pairs.values())):,}", "sentences and pairs"),
    )
