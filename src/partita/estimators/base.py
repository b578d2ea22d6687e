"""What every estimator is: declared options, a model file, scikit-learn's habits."""

import os
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import field
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from partita.arrays import Array
from partita.estimators import files
from partita.estimators.explain import facts_html
from partita.estimators.options import Declared, declared
from partita.training.contents import refusing_wrong_contents
from partita.training.trainer import TrainingResult


class NotFittedError(ValueError, AttributeError):
    """An estimator was asked something before it had learnt anything."""


class Stored(NamedTuple):
    """What a model file holds of an estimator beside its options."""

    header: dict[str, Any]
    """As JSON has it."""
    arrays: Mapping[str, Array]


@declared
class Estimator(Declared):
    """A model that learns by `fit` and is kept in a file by `save`."""

    kind: ClassVar[str]
    """What a model file says it holds, and `partita train` makes."""
    training_: TrainingResult | None = field(init=False)
    """The run of `fit`; None after `load`."""
    about_: Mapping[str, Any] = field(init=False)
    """What it learnt from and how that ended, in a few lines, for `inspect`."""

    if not TYPE_CHECKING:  # or every name would be thought to exist

        def __getattr__(self, name):
            # What fit leaves behind has a name that ends in an underscore.
            if name.endswith("_") and not name.startswith("_"):
                self._check_fitted()
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __sklearn_is_fitted__(self) -> bool:
        return "training_" in vars(self)

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn asks, so it is there. A sequence of tags is no class, and splitting by
        # class (which scikit-learn does for classifiers) cannot work: this is none of its types.
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False),
        )

    def _repr_html_(self) -> str:
        facts = getattr(self, "about_", {"state": "has learnt nothing yet; call fit"})
        return f"<p><code>{escape(repr(self))}</code></p>{facts_html(facts)}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a model file: numbers and text, nothing that can run."""
        files.write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """The model of a file, with the same answers to the last bit."""
        found = files.read(path, cls.kind)
        with refusing_wrong_contents(path):
            estimator = cls(**files.restored_options(cls, found.options))
            estimator.check_values()
            estimator._restore(Stored(found.header, found.arrays))
            estimator.training_, estimator.about_ = None, dict(found.header["about"])
        return estimator

    @abstractmethod
    def _stored(self) -> Stored:
        """What a model file holds of this estimator beside its options."""

    @abstractmethod
    def _restore(self, stored: Stored) -> None:
        """Take over what `_stored` gave."""

    def _check_fitted(self) -> None:
        if "training_" not in vars(self):
            raise NotFittedError(
                f"this {type(self).__name__} has learnt nothing yet; call fit, or load a model."
            )
