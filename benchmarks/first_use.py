"""What the first use costs with an empty cache: seconds of CPU, each in a process of its own.

The time of the call alone, imports left out, all of it on one thread. A tagger learns from three
sentences by other kernels than from hundreds, so both are here, and so for parsers; the training
itself is in the time, as the second process shows. Run it with
`make bench-first_use`; it takes four minutes, and compiles into folders that it removes.
"""

import os
import subprocess
import sys
import tempfile

from benchmarks.timing import Table, show_help, write_json

BEGIN = """
import time
import numpy as np
import partita as pt
from partita import samples
rng = np.random.default_rng(0)
WORDS = [["the", "dog", "sees", "a", "cat"], ["a", "cat", "sleeps"], ["dogs", "sleep"]]
TAGS = [["D", "N", "V", "D", "N"], ["D", "N", "V"], ["N", "V"]]
TAGGED = [list(zip(*pair)) for pair in zip(WORDS, TAGS)]
HEADS = [[2, 3, 0, 5, 3], [2, 3, 0], [2, 0]]
LABELS = [["det", "nsubj", "root", "det", "obj"], ["det", "nsubj", "root"], ["nsubj", "root"]]
pt.LinearChain, pt.SpanningTree, pt.ProjectiveTree, pt.Tagger, pt.DependencyParser
began = time.process_time()
"""
END = "\nprint(time.process_time() - began)"
CALLS = {
    "LinearChain(...).marginals": (
        "pt.LinearChain(rng.normal(size=(5, 4)), rng.normal(size=(4, 4))).marginals",
        6,
    ),
    "ProjectiveTree(...).marginals": ("pt.ProjectiveTree(rng.normal(size=(6, 6))).marginals", 5),
    "SpanningTree(...).marginals": ("pt.SpanningTree(rng.normal(size=(6, 6))).marginals", 5),
    "Tagger().fit, 3 sentences": ("pt.Tagger(max_iterations=2).fit(WORDS, TAGS)", 9),
    "Tagger().fit, 350 sentences": (
        "pt.Tagger(tag_column='UPOS', progress=False).fit(samples.treebank('train'))",
        9,
    ),
    "DependencyParser().fit, 3 sentences": (
        "pt.DependencyParser(max_iterations=2).fit(TAGGED, HEADS, LABELS)",
        15,
    ),
    "DependencyParser().fit, 350 sentences": (
        "pt.DependencyParser(progress=False).fit(samples.treebank('train'))",
        15,
    ),
}
"""A call, and the seconds that it should take at most."""


def cpu_seconds(call, cache):
    """Of a call in a new process, whose compiled code is kept in `cache`."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", BEGIN + call + END]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{call} failed: {done.stderr.strip()}")
    return float(done.stdout.split()[-1])


def main():
    """Measure, print, and write benchmarks/results/first_use.json."""
    table = Table("The first use and the second, seconds of CPU")
    for name, (call, most) in CALLS.items():
        with tempfile.TemporaryDirectory() as cache:
            first, second = (cpu_seconds(call, cache) for _ in range(2))
        table.add(call=name, first=first, aim=most, **{"in a new process": second})
    print(table)
    print("\nwritten to", write_json("first_use", [table]))


if __name__ == "__main__":
    show_help(__doc__)
    main()
