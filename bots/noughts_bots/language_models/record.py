"""The record of a question to a model: the comment of its move, as JSON. See docs/how-to/language-models.md."""

import json
from collections.abc import Sequence
from typing import NamedTuple

TOO_MUCH = 10**15
"""Numbers of tokens, costs and seconds from here on are errors."""


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
    scramble: bool
    prompt: str
    """The SHA-256 of the messages before the first answer."""
    answers: Sequence[Answer]
    waits: Sequence[Wait]
    cost: float | None
    """The cost of all answers; None if unknown."""

    def write(self) -> str:
        document = self._asdict()
        document["answers"] = [answer._asdict() for answer in self.answers]
        document["waits"] = [wait._asdict() for wait in self.waits]
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def as_utf8(text: object) -> str:
    """Return the text of an endpoint as UTF-8 can hold it: JSON can have halves of characters."""
    return str(text).encode(errors="replace").decode()


def ending(text: str, most_bytes: int) -> str:
    """Return the last characters of a text that take at most so many bytes in a record."""
    size = 0
    for count, character in enumerate(reversed(text)):
        size += len(json.dumps(character, ensure_ascii=False).encode(errors="replace")) - 2
        if size > most_bytes:
            return text[len(text) - count :]
    return text


def read_question(comment: str) -> Question | None:
    """Return the record in a comment; None if it is another text, because other bots can send any comment."""
    try:
        document = json.loads(comment)
        answers, waits = [Answer(**each) for each in document["answers"]], [Wait(**each) for each in document["waits"]]
        texts = document["answer"], *(answer.said for answer in answers)
        numbers = document["cost"], *(tokens for answer in answers for tokens in answer[3:])
        known = *filter(None, numbers), *(wait.seconds for wait in waits)
        if all(isinstance(text, str) for text in texts) and all(0 <= number < TOO_MUCH for number in known):
            return Question(**document | {"answers": answers, "waits": waits})
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return None
