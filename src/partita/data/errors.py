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
