"""The base of errors about a user's input."""

from typing import ClassVar


class InvalidInput(ValueError):
    """An invalid input. `got` is the input, `expected` describes valid inputs."""

    text: ClassVar[str] = "got {got}, expected {expected}"

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(self.text.format(got=got, expected=expected))
        self.got = got
        self.expected = expected
