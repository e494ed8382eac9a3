"""The base of errors about input from people."""

from typing import ClassVar


class InvalidInput(ValueError):
    """Something that is not valid: `got` says what, `expected` what would be valid."""

    text: ClassVar[str] = "got {got}, expected {expected}"

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(self.text.format(got=got, expected=expected))
        self.got = got
        self.expected = expected
