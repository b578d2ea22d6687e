"""Features of places in the target: does the ITG translator gain by them? A study on short pairs.

D_n(x) with places in the target is, for every length m, D(x, y) of a target whose words are not
known: the link of word s at place k scores the sum over its translations, and whatever is known of
(s, k, m). So the dense kernels of pairs sum over it exactly, once for each length, and
log P(y | x, n) keeps its meaning. Compared are the translator's own features and the same with
features of (s, k, m): how far a word, or words of its class, move, from the beginning, from the
end and as a share of the sentence, and whether they come first or last.

    PARTITA_DATA=... python -m benchmarks.target_places [DATA] [--words 10] [--pairs 2500]

DATA as for `benchmarks.translator`. The last 700 short training pairs are held out, from the
lexicon, too: -log P(y | x, n) of those that can be reached, and BLEU of the best derivation of the
likeliest length.
"""

import argparse
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.timing import Table, write_json
from partita import Itg
from partita.data.bitext import read_bitext
from partita.estimators.alignment.latent import Bound, learn_latent
from partita.estimators.alignment.material import read_pairs
from partita.estimators.groups import Runs
from partita.estimators.translation.itg_family import ItgFamily
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.evaluation.translations import corpus_bleu, corpus_chrf
from partita.features.base import FeatureMap, RepeatedFeatures
from partita.features.source_rules import SourceRuleFeatures, first_weights, n_weights
from partita.grammars.forest import Rule
from partita.grammars.itg import pair_forest
from partita.grammars.source_parts import place_splits
from partita.grammars.source_structures import SourceTargets
from partita.kernels.bitext import itg_outside
from partita.structures.base import Inference, Structures
from partita.structures.batch import offsets, pieces
from partita.structures.forests import Forests

N_HELD_OUT, N_BITS, PLACE_BITS = 700, 20, 18
MIXER, OTHER_MIXER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)


def places_before(n, m):
    """How many parts (s, k) shorter targets have: the first part of those of m words."""
    return n * (m * (m - 1) // 2)


def n_places(parts):
    """Parts (s, k, m) of a sentence, for all targets of at most `longest` words."""
    return places_before(parts.n_source, parts.longest + 1)


class PlacedDerivations(Structures):
    """D(x, y) of each pair, or D_n(x) without targets; the parts (s, k, m) follow the others.

    A study asks for sums only.
    """

    def __init__(self, sources, targets=None):
        self.sources, self.targets = list(sources), targets
        self.n_words = np.array([each.n_source for each in sources])
        sizes = [each.n_parts + n_places(each) for each in sources]
        self.part_offsets = offsets(np.array(sizes, dtype=np.int64))
        if targets is not None:
            pairs = zip(sources, targets, strict=True)
            self.places = [source.places(target) for source, target in pairs]

    def infer(self, scores):
        """One call of the dense kernel for all sentences and lengths."""
        mine = pieces(scores, self.part_offsets)
        rows = [(b, m) for b in range(len(mine)) for m in self._lengths(b)]
        dense = [self._dense(b, m, mine[b]) for b, m in rows]
        starts, flat = offsets(np.array([len(each) for each in dense])), np.concatenate(dense)
        n, m = np.array([(self.sources[b].n_source, m) for b, m in rows]).T.copy()
        sums, counts = np.empty(len(rows)), np.empty(len(flat))
        safe = np.empty(len(rows), dtype=np.bool_)
        itg_outside.infer(flat, starts, n, m, True, sums, counts, safe)
        assert safe.all(), "scores of a study are moderate"
        marginals = np.zeros(len(scores))
        log_partition = np.full(len(mine), -np.inf)
        own, out = pieces(counts, starts), pieces(marginals, self.part_offsets)
        for b, source in enumerate(self.sources):
            here = [row for row, (sentence, _) in enumerate(rows) if sentence == b]
            length = np.array([mine[b][source.first_length + rows[row][1]] for row in here])
            totals = sums[here] + length
            log_partition[b] = np.logaddexp.reduce(totals)
            shares = np.exp(totals - log_partition[b]) if log_partition[b] > -np.inf else 0 * totals
            for row, share in zip(here, shares.tolist(), strict=True):
                if share > 0:
                    self._add_counts(b, rows[row][1], share, mine[b], own[row], out[b])
        return Inference(log_partition, marginals)

    def _lengths(self, b):
        return range(self.sources[b].longest + 1) if self.targets is None else [self.n_target(b)]

    def n_target(self, b):
        """Words of a target."""
        return len(self.targets[b])

    def _placed(self, b, m, values):
        """The parts (s, k) for m target words, (n, m)."""
        source = self.sources[b]
        first = source.n_parts + places_before(source.n_source, m)
        return values[first : first + source.n_source * m].reshape(source.n_source, m)

    def _terminals(self, b, m, base):
        """Scores of links (n, m) and of insertions (n + 1, m)."""
        source = self.sources[b]
        if self.targets is not None:
            padded = np.append(base, -np.inf)
            return [padded[places] for places in self.places[b]]
        inserted = base[source.first_insertion : source.first_length]
        sums = [
            source.links.log_sums(base[: source.first_deletion]),
            source.insertions.log_sums(inserted),
        ]
        return [np.repeat(each[:, np.newaxis], m, axis=1) for each in sums]

    def _dense(self, b, m, scores):
        source = self.sources[b]
        base = scores[: source.n_parts]
        links, insertions = self._terminals(b, m, base)
        deletions = base[source.first_deletion : source.first_insertion]
        placed = (links + self._placed(b, m, scores)).ravel()
        return np.concatenate([placed, deletions, insertions.ravel(), base[source.first_split :]])

    def _add_counts(self, b, m, share, scores, counts, out):
        source = self.sources[b]
        n, base = source.n_source, scores[: source.n_parts]
        sizes = np.cumsum([n * m, n, (n + 1) * m])
        links, deletions, insertions, rules = np.split(share * counts, sizes)
        links, insertions = links.reshape(n, m), insertions.reshape(n + 1, m)
        out[source.first_deletion : source.first_insertion] += deletions
        out[source.first_split : source.n_parts] += rules
        out[source.first_length + m] += share
        self._placed(b, m, out)[:] += links
        if self.targets is not None:
            for places, found in zip(self.places[b], (links, insertions), strict=True):
                np.add.at(out, places[places >= 0], found[places >= 0])
            return
        for first, last, choices, found in (
            (0, source.first_deletion, source.links, links),
            (source.first_insertion, source.first_length, source.insertions, insertions),
        ):
            out[first:last] += choices.spread(found.sum(axis=1), base[first:last])

    def is_same_set(self, other):
        """Not asked."""
        return self is other

    def _not_asked(self, *arguments):
        raise NotImplementedError("a study asks for sums only")

    covariance_product = argmax = max_marginals = k_best = sample = _not_asked
    counts = sample_distinct = resampled = _not_asked

    def why_empty(self, scores, sentence):
        """Not asked."""
        return "no derivation"


def hashed(*values):
    """Places in the table of weights."""
    state = np.zeros(1, dtype=np.uint64)
    for value in values:
        number = np.asarray(value).astype(np.int64).astype(np.uint64)
        state = (state ^ (number * MIXER)) * OTHER_MIXER
        state = state ^ (state >> np.uint64(32))
    return ((state * MIXER) >> np.uint64(64 - PLACE_BITS)).astype(np.int32)


def place_features(rules):
    """The weights of every part (s, k, m)."""
    n, rows = rules.parts.n_source, []
    words, classes = rules.words[2 : 2 + n], rules.classes[2 : 2 + n]
    for m in range(1, rules.parts.longest + 1):
        s, k = np.divmod(np.arange(n * m), m)
        moved = np.clip(k - s, -6, 6) + 20
        moved_back = np.clip((m - 1 - k) - (n - 1 - s), -6, 6) + 20
        share = (8 * (2 * k + 1)) // (2 * m) - (8 * (2 * s + 1)) // (2 * n) + 20
        end = np.where(k == 0, 1, np.where(k == m - 1, 2, 0))
        columns = [
            hashed(1, moved),
            hashed(2, classes[s], moved),
            hashed(3, share),
            hashed(4, classes[s], end),
            hashed(5, words[s], share),
            hashed(6, classes[s], moved_back),
            hashed(7, words[s], moved),
        ]
        rows.append(np.column_stack(columns))
    return np.concatenate(rows)


class PlacedFeatures(FeatureMap):
    """The translator's own features, and those of places behind them."""

    def __init__(self, sentences):
        self.own = [SourceRuleFeatures([each.rules], N_BITS) for each in sentences]
        self.ids = [place_features(each.rules) for each in sentences]
        self.n_own = n_weights(N_BITS)
        self.n_weights = self.n_own + 2**PLACE_BITS
        sizes = [own.n_parts + len(ids) for own, ids in zip(self.own, self.ids, strict=True)]
        self._offsets = offsets(np.array(sizes, dtype=np.int64))
        self.n_parts = int(self._offsets[-1])

    def add_scores(self, weights, out):
        """Both."""
        for own, ids, mine in zip(self.own, self.ids, pieces(out, self._offsets), strict=True):
            own.add_scores(weights[: self.n_own], mine[: own.n_parts])
            mine[own.n_parts :] += weights[self.n_own :][ids].sum(axis=1)

    def add_gradient(self, score_gradient, out):
        """Both."""
        gradients = pieces(score_gradient, self._offsets)
        for own, ids, mine in zip(self.own, self.ids, gradients, strict=True):
            own.add_gradient(mine[: own.n_parts], out[: self.n_own])
            values = np.repeat(mine[own.n_parts :], ids.shape[1])
            out[self.n_own :] += np.bincount(ids.ravel(), values, minlength=2**PLACE_BITS)


@dataclass(frozen=True, eq=False)
class PlacedFamily(ItgFamily):
    """The translator's family with places in the target."""

    def are_reachable(self, pairs):
        """Places forbid nothing."""
        return ItgFamily(self.lexicon, self.n_bits, self.bound).are_reachable(pairs)

    def observed(self, pairs):
        """D(x, y)."""
        sources = [pair.source.parts for pair in pairs]
        return PlacedDerivations(sources, [pair.target for pair in pairs])

    def every(self, pairs):
        """D_n(x)."""
        return PlacedDerivations([pair.source.parts for pair in pairs])

    def features(self, pairs, structures):
        """The same parts twice."""
        return RepeatedFeatures(PlacedFeatures([pair.source for pair in pairs]), 2)

    def first_weights(self):
        """Places start with nothing."""
        return np.concatenate([first_weights(N_BITS), np.zeros(2**PLACE_BITS)])


def translated(family, weights, words):
    """The best derivation of the likeliest length."""
    sentence = family.sentence(words)
    source = sentence.parts
    n, is_placed = source.n_source, isinstance(family, PlacedFamily)
    sets = PlacedDerivations([source]) if is_placed else SourceTargets([source])
    features = (
        PlacedFeatures([sentence]) if is_placed else SourceRuleFeatures([sentence.rules], N_BITS)
    )
    scores = features.scores(weights)
    lengths = slice(source.first_length, source.first_split)
    m = int(sets.infer(scores).marginals[lengths].argmax())
    if m == 0:
        return ()
    base = scores[: source.n_parts]
    placed = sets._placed(0, m, scores) if is_placed else np.zeros((n, m))
    # The best word of a place is the same wherever it stands in the target.
    best = [
        [
            first + starts[g] + base[first + starts[g] : first + starts[g + 1]].argmax()
            for g in range(k)
        ]
        for first, starts, k in (
            (0, source.links.offsets, n),
            (source.first_insertion, source.insertions.offsets, n + 1),
        )
    ]
    links, insertions = (np.array(each) for each in best)
    forest = pair_forest(np.ones((n, m)), np.ones(n), np.ones(m), normal_form=True)
    spans, parts = forest.edge_spans, np.full(forest.hypergraph.n_edges, source.n_parts)
    place_splits(forest, parts, source.first_split, source.n_splits)
    for rule, own in ((Rule.LINK, links), (Rule.INSERTION, insertions)):
        parts[forest.rule == rule] = own[spans[forest.rule == rule, 0]]
    deleted = forest.rule == Rule.DELETION
    parts[deleted] = source.first_deletion + spans[deleted, 0]
    edges = np.append(base, 0.0)[parts]
    linked = forest.rule == Rule.LINK
    edges[linked] += placed[spans[linked, 0], spans[linked, 2]]
    derivation = Forests([forest.hypergraph]).argmax(edges).structures[0]
    leaves = forest.leaves_of(derivation)
    leaves = leaves[forest.rule[leaves] != Rule.DELETION]
    all_words = np.concatenate([source.links.words, np.zeros(n, int), source.insertions.words])
    return sentence.target_text(family.lexicon, all_words[parts[leaves]].tolist())


def main():
    """Both families on the same pairs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA", "."), type=Path)
    parser.add_argument("--words", type=int, default=10, help="most words of a side")
    parser.add_argument("--pairs", type=int, default=2500)
    parser.add_argument("--passes", type=int, default=3)
    options = parser.parse_args()
    files = [options.data / "multi30k" / f"train.lc.norm.tok.{side}" for side in ("de", "en")]
    bitext = read_bitext(*files)
    full = read_pairs(bitext.source, bitext.target).full()
    short = full.short(options.words)
    cut = max(len(short) - N_HELD_OUT, len(short) // 2)
    pairs = short.select(range(cut), short.counts).thinned(options.pairs)
    held_out = short.select(range(cut, len(short)), short.counts)
    seen = {*zip(held_out.source, held_out.target, strict=True)}
    both = enumerate(zip(full.source, full.target, strict=True))
    taught = full.select([place for place, pair in both if pair not in seen], full.counts)
    runs = Runs(progress=False, workers=1)
    lexicon = TranslationLexicon.learn(taught.short(15), None, runs)
    way = Itg(max_iterations=options.passes, n_bits=N_BITS).way
    table = Table(f"Multi30k, at most {options.words} words, {len(pairs):,} pairs to learn from")
    for name, kind in (("own features", ItgFamily), ("and places in the target", PlacedFamily)):
        family, began = kind(lexicon, N_BITS, Bound.fitted(*pairs.lengths)), time.process_time()
        found = learn_latent(family, pairs, None, lambda n, f=family: way(runs, f, n), runs)
        spent, weights = time.process_time() - began, found.training.weights
        judges = family.encode(held_out.source, held_out.target)
        reached = [p for p, here in zip(judges, family.are_reachable(judges), strict=True) if here]
        losses = [-family.log_prob(pair, weights) for pair in reached]
        answers = [translated(family, weights, words) for words in held_out.source]
        table.add(
            features=name,
            loss_a_pair=round(float(np.mean(losses)), 3),
            bleu=round(corpus_bleu(answers, held_out.target).score, 2),
            chrf=round(corpus_chrf(answers, held_out.target), 2),
            pairs_judged=len(reached),
            cpu_seconds=round(spent, 1),
        )
        print(table.rows[-1], flush=True)
    print(table)
    print(f"\nWritten to {write_json('target_places', [table])}")


if __name__ == "__main__":
    main()
