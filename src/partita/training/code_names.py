"""Classes by name, for files that a later run reads: those of data, and of ours, only."""

import copyreg
from importlib import import_module
from typing import Any

from partita.training.contents import ModelFileError

FAMILIES = (
    "structures",
    "grammars",
    "features",
    "distribution",
    "objectives",
    "text",
    "kernels",
    "training",
)
"""Packages of ours with classes that batches are made of."""
KNOWN: dict[str, Any] = {
    "copyreg.__newobj__": copyreg.__newobj__,  # type: ignore[attr-defined]
    "builtins.slice": slice,
    "builtins.map": map,  # how members of joined structures are asked
}
"""What else makes objects."""


def name_of(code: Any) -> str:
    """The name of a class.

    >>> from partita.structures.chains import Chains
    >>> name_of(Chains)
    'partita.structures.chains.Chains'
    """
    return f"{code.__module__}.{code.__qualname__}"


def code_named(name: str) -> Any:
    """The class of a name, if it is one of ours that holds data.

    >>> code_named("os.system")
    Traceback (most recent call last):
    partita.training.contents.ModelFileError: a file of batches names os.system, which is no class
    of data of ours. Delete the folder, and make it again.
    """
    if name in KNOWN:
        return KNOWN[name]
    module, _, own = name.rpartition(".")
    found = None
    if module.startswith(tuple(f"partita.{family}." for family in FAMILIES)):
        try:
            found = getattr(import_module(module), own, None)
        except ImportError:
            found = None
    if not isinstance(found, type) or found.__module__ != module:
        raise ModelFileError(
            f"a file of batches names {name}, which is no class of data of ours. Delete the "
            "folder, and make it again."
        )
    return found
