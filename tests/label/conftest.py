"""A sitting, and a page that is served."""

import pytest

from partita.label import Sitting
from small_corpus import served, tag_task


@pytest.fixture
def sitting(tmp_path):
    found = Sitting(tag_task(), tmp_path / "out.txt")
    yield found
    found.close()


@pytest.fixture
def page(sitting):
    yield from served(sitting)
