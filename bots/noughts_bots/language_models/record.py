"""The record of a question to a model: the comment of its move, as JSON. See docs/how-to/language-models.md."""

import json
from collections.abc import Sequence
from typing import NamedTuple

TOO_MUCH = 10**15
"""Numbers of tokens, costs and seconds of this size or more are errors."""


class Wait(NamedTuple):
    """A wait before the same request was sent again."""

    why: str
    """The status of the endpoint, or `connection`."""
    seconds: float


class Answer(NamedTuple):
    """An answer of the model, and the verdict on it."""

    said: str
    """The end of its text, as far as a record has space for it."""
    verdict: str
    """`legal`, `illegal` or `unparsable`."""
    seconds: float
    """The time from the request to its answer, without waits."""
    input_tokens: int | None
    """None if the endpoint does not report the number."""
    output_tokens: int | None
    """None if the endpoint does not report the number."""


class Question(NamedTuple):
    """The question for one move, with all answers. The field names are those of the JSON."""

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
        """Return the record as JSON."""
        document = self._asdict()
        document["answers"] = [answer._asdict() for answer in self.answers]
        document["waits"] = [wait._asdict() for wait in self.waits]
        return json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def as_utf8(text: object) -> str:
    """Return a text from an endpoint with `?` for surrogates, which JSON can have and UTF-8 cannot encode."""
    return str(text).encode(errors="replace").decode()


def ending(text: str, most_bytes: int) -> str:
    """Return the longest end of a text that takes at most `most_bytes` bytes as JSON in UTF-8."""
    size = 0
    for count, character in enumerate(reversed(text)):
        in_quotes = json.dumps(character, ensure_ascii=False).encode(errors="replace")
        size += len(in_quotes) - len('""')
        if size > most_bytes:
            return text[len(text) - count :]
    return text


def read_question(comment: str) -> Question | None:
    """Return the record in a comment; None for a comment with any other text."""
    try:
        document = json.loads(comment)
        answers = [Answer(**fields) for fields in document["answers"]]
        waits = [Wait(**fields) for fields in document["waits"]]
        texts = [document["answer"]]
        optional_numbers = [document["cost"]]
        for answer in answers:
            texts.append(answer.said)
            optional_numbers += [answer.input_tokens, answer.output_tokens]
        numbers = [number for number in optional_numbers if number] + [wait.seconds for wait in waits]
        if all(isinstance(text, str) for text in texts) and all(0 <= number < TOO_MUCH for number in numbers):
            return Question(**document | {"answers": answers, "waits": waits})
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return None
