"""What scikit-learn asks of an estimator: arguments that can be read, set and copied."""

import inspect
from typing import Any, Self


class Parameters:
    """An estimator whose arguments are stored unchanged, under their own names.

    >>> class Example(Parameters):
    ...     def __init__(self, n_tags: int, alpha: float = 0.1) -> None:
    ...         self.n_tags = n_tags
    ...         self.alpha = alpha
    >>> Example(3).set_params(alpha=0.5).get_params()
    {'n_tags': 3, 'alpha': 0.5}
    >>> Example(3)
    Example(n_tags=3)
    """

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The names of the arguments, with their defaults."""
        signature = inspect.signature(cls.__init__)
        return {
            name: parameter.default
            for name, parameter in signature.parameters.items()
            if name != "self"
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments by name; `deep` is there for scikit-learn, and changes nothing."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **params: Any) -> Self:
        """Changes some arguments, for the next `fit`."""
        names = self._defaults()
        for name, value in params.items():
            if name not in names:
                raise ValueError(
                    f"{type(self).__name__} has no argument {name!r}; it has {', '.join(names)}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        # Compared by repr, since an argument may be an array, which has no plain equality.
        defaults = {name: repr(value) for name, value in self._defaults().items()}
        given = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != defaults[name]
        )
        return f"{type(self).__name__}({', '.join(given)})"
