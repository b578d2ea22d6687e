"""A small random bitext with real correspondences."""

from partita.text.word_vocabulary import WordVocabulary


def random_bitext(rng, n_pairs=20, n_words=8, longest=6):
    """Target words are mostly those of the source, in nearly the same order."""
    source, target = [], []
    for _ in range(n_pairs):
        sentence = rng.integers(n_words, size=rng.integers(1, longest + 1))
        translation = [f"t{word}" for word in sentence if rng.random() < 0.9]
        if len(translation) > 1 and rng.random() < 0.4:
            place = rng.integers(len(translation) - 1)
            translation[place : place + 2] = translation[place : place + 2][::-1]
        if rng.random() < 0.3 or not translation:
            translation.insert(rng.integers(len(translation) + 1), "extra")
        source.append([f"s{word}" for word in sentence])
        target.append(translation)
    return source, target


def numbered(rng, **options):
    """Words, their numbers, and the sizes of both vocabularies."""
    source, target = random_bitext(rng, **options)
    words = WordVocabulary.learn(source), WordVocabulary.learn(target)
    return words, words[0].encode(source), words[1].encode(target)


def as_lists(sentences):
    return [sentences[index].tolist() for index in range(len(sentences))]
