"""The record of a question to a model: the comment of its move, as JSON. See docs/how-to/language-models.md."""

import json
from collections.abc import Sequence
from typing import NamedTuple


class Wait(NamedTuple):
    why: str
    """The status of the endpoint, or `connection`."""
    seconds: float


class Answer(NamedTuple):
    said: str
    verdict: str
    """`legal`, `illegal` or `unparsable`."""
    seconds: float
    """From the request to its answer, without waits."""
    input_tokens: int | None
    output_tokens: int | None
    """None if the endpoint does not report them."""


class Question(NamedTuple):
    model: str
    answer: str
    """The form of the answers."""
    rethink: int
    prompt: str
    """The SHA-256 of the messages before the first answer."""
    answers: Sequence[Answer]
    waits: Sequence[Wait]
    cost: float | None
    """What all answers cost; None if unknown."""

    def write(self) -> str:
        parts = {name: [each._asdict() for each in getattr(self, name)] for name in ("answers", "waits")}
        return json.dumps(self._asdict() | parts, separators=(",", ":"), ensure_ascii=False)
