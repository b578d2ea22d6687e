"""What is wrong with a file: where, what was found, what was expected, what to do."""


class DataError(ValueError):
    """A data file that is not what it should be; the line is None if it is the file as a whole.

    >>> str(DataError("train.conllu", 17, "found 9 columns; expected 10."))
    'train.conllu, line 17: found 9 columns; expected 10.'
    """

    def __init__(self, source: str, line: int | None, message: str) -> None:
        # All three, so that the error can be pickled and sent home by a worker.
        super().__init__(source, line, message)
        self.source = source
        self.line = line
        self.message = message

    def __str__(self) -> str:
        where = self.source if self.line is None else f"{self.source}, line {self.line}"
        return f"{where}: {self.message}"


MOST_SHOWN = 60


def shown(text: str, most: int = MOST_SHOWN) -> str:
    """A value from a file as a message quotes it: not longer than a reader wants.

    >>> shown("VERB"), shown("9" * 5000, most=5)
    ("'VERB'", "'99999...'")
    """
    return repr(text if len(text) <= most else text[:most] + "...")


def whole_number(text: str) -> int | None:
    """The number that ASCII digits spell; None for other text, and for more than nine digits.

    No file has so many lines or words, and Python refuses to read thousands of digits.

    >>> whole_number("12"), whole_number("-1"), whole_number("9" * 5000)
    (12, None, None)
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
