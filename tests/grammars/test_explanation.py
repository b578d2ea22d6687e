"""The examples in the explanation run as printed."""

import doctest
from pathlib import Path

import pytest

EXPLANATION = Path(__file__).parents[2] / "docs" / "explanations" / "one-to-one.md"


@pytest.mark.skipif(not EXPLANATION.exists(), reason="the documentation is not part of a release")
def test_the_examples_of_the_explanation():
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    result = doctest.testfile(str(EXPLANATION), module_relative=False, optionflags=flags)
    assert result.attempted > 5
    assert result.failed == 0
