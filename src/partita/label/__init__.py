"""A local page for labelling, which asks for what the model does not know.

`Sitting` is all of it without the web: a corpus with partial labels, a journal that loses nothing,
a model that learns in the background, and the next question. `server` puts it on a page.
"""

from partita.label.journal import Journal, JournalError
from partita.label.sitting import Sitting
from partita.label.tags import TagTask
from partita.label.trees import TreeTask

__all__ = ["Journal", "JournalError", "Sitting", "TagTask", "TreeTask"]
