"""A corpus in files: the same bits as in memory, with less memory than it needs."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from beyond_memory import large_batches
from partita.objectives import Likelihood
from partita.training.contents import ModelFileError
from partita.training.corpora import build_corpus
from partita.training.memory_corpus import MemoryCorpus
from partita.training.model_file import read_model, write_model
from partita.training.optimisers import LBFGS, Adam
from partita.training.penalties import Penalty
from partita.training.shards import StoredBatches
from partita.training.trainer import train
from small_corpora import N_WEIGHTS, chain_batches

PENALTY = Penalty(l2=0.5)


@pytest.mark.parametrize("optimiser", [LBFGS(n_iterations=6), Adam(n_iterations=2)])
def test_the_model_is_that_of_memory(tmp_path, optimiser):
    expected = train(build_corpus(Likelihood(), chain_batches(30)), optimiser, penalty=PENALTY)
    corpus = build_corpus(Likelihood(), iter(chain_batches(30)), workers=2, cache=tmp_path)
    found = train(corpus, optimiser, penalty=PENALTY)
    assert found.weights.tobytes() == expected.weights.tobytes()
    assert corpus.digest == MemoryCorpus(Likelihood(), chain_batches(30)).digest


def test_a_cache_is_opened_again_for_the_same_data_only(tmp_path):
    stored = StoredBatches.write(chain_batches(), tmp_path)
    stored.save("the key")
    again = StoredBatches.reopened(tmp_path, "the key")
    assert again.digest == stored.digest
    weights = np.random.default_rng(0).normal(size=N_WEIGHTS)
    losses = [MemoryCorpus(Likelihood(), each).value(weights) for each in (stored, again)]
    assert losses[0] == losses[1]
    assert StoredBatches.reopened(tmp_path, "another key") is None
    assert StoredBatches.reopened(tmp_path / "elsewhere", "the key") is None


def test_a_cache_of_another_format_is_made_anew(tmp_path):
    stored = StoredBatches.write(chain_batches(), tmp_path)
    stored.save("key")
    found = read_model(tmp_path / "index", kind="index")
    del found.header["format"]
    write_model(tmp_path / "index", found.header, found.arrays)
    assert StoredBatches.reopened(tmp_path, "key") is None


def test_a_cache_names_no_code_but_classes_of_data(tmp_path):
    stored = StoredBatches.write(chain_batches(), tmp_path)
    stored.save("key")
    index = tmp_path / "index"
    content = index.read_bytes()
    assert b"partita.training.batches.Batch" in content
    found = read_model(index, kind="index")
    found.header["files"][0]["code"][0] = "subprocess.run"
    write_model(index, found.header, found.arrays)
    with pytest.raises(ModelFileError, match="names subprocess.run, which is no class"):
        StoredBatches.reopened(tmp_path, "key")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by Linux' means")
def test_a_corpus_of_four_times_the_memory(tmp_path):
    script = Path(__file__).with_name("beyond_memory.py")
    done = subprocess.run(
        [sys.executable, script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    weights, in_memory = done.stdout.split()
    assert in_memory == "MemoryError"
    corpus = MemoryCorpus(Likelihood(), list(large_batches()), n_threads=1)
    expected = train(corpus, LBFGS(n_iterations=2), penalty=PENALTY)
    assert weights == expected.weights.tobytes().hex()
