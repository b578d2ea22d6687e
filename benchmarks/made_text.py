"""Text that is made up (Zipf's law), so that its size is free."""

from pathlib import Path

import numpy as np

N_TAGS, PER_SENTENCE = 17, 20


def write_text(path: Path, n_words: int, most: int = 2 * 10**6) -> None:
    """Columns of words and tags; a twentieth of the words are of a long tail of so many."""
    rng = np.random.default_rng(1)
    left = n_words
    with open(path, "w") as file:
        while left > 0:
            n = min(left, 10**6)
            numbers = np.minimum(rng.zipf(1.15, size=n), most)
            lines = [f"w{number}\tT{number % N_TAGS}\n" for number in numbers.tolist()]
            for start in range(0, n, PER_SENTENCE):
                file.writelines(lines[start : start + PER_SENTENCE])
                file.write("\n")
            left -= n
