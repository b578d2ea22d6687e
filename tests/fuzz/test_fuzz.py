"""A little of `make fuzz`, always the same inputs, and all that once broke something."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tools.fuzz.targets import TARGETS

N_INPUTS = {"readers": 3000, "models": 300, "checkpoints": 300, "commands": 300, "scores": 1300}
"""About ten seconds for each target, a minute in all."""


@pytest.fixture(scope="module", params=list(TARGETS))
def target(request, tmp_path_factory):
    return TARGETS[request.param](tmp_path_factory.mktemp(request.param))


def test_what_once_broke(target):
    cases = target.corpus()
    assert cases
    for case in cases:
        target.check(case)


@pytest.mark.slow
def test_some_inputs(target):
    """Hypothesis draws the random numbers, so that an input that breaks something is made small."""

    @settings(
        max_examples=N_INPUTS[target.name],
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=False))
    def check(rng):
        target.check(target.draw(rng))

    check()
