"""Reads the relevant parts of an endpoint's answer to a request for a chat completion.

Servers implement OpenAI's protocol in different ways, so every part of the JSON is checked.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from noughts_bots.language_models.record import TOO_MUCH, as_utf8

_TEXTS = ("text", "output_text", "refusal")
"""The types of message parts that have text."""
_DEEPEST = 10
"""The number of nested lists and parts after which no text is read."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The model's answer."""

    text: str
    """The model's message or refusal."""
    calls: tuple[tuple[str, str], ...]
    """The names and arguments of the functions that the model calls."""
    input_tokens: int | None
    """None if the endpoint reports no valid number."""
    output_tokens: int | None
    """None if the endpoint reports no valid number."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error in an answer with status 200, as proxies send it."""

    status: int | None
    reason: str


def read_completion(document: object) -> Completion | Failure | None:
    """Return the contents of an answer's JSON; None if it is not a chat completion."""
    if not isinstance(document, dict):
        return None
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if isinstance(message, str):
        message = {"content": message}
    if not isinstance(message, dict) or not message:
        return _failure(document.get("error"))
    return Completion(
        text=_text(message.get("content")) or _text(message.get("refusal")),
        calls=_calls(message.get("tool_calls")),
        input_tokens=_count(document.get("usage"), "prompt_tokens"),
        output_tokens=_count(document.get("usage"), "completion_tokens"),
    )


def _failure(error: object) -> Failure | None:
    if not error:
        return None
    if not isinstance(error, dict):
        return Failure(None, as_utf8(error))
    code = str(error.get("code"))
    status = int(code) if re.fullmatch("[1-9][0-9][0-9]", code) else None
    return Failure(status, as_utf8(error.get("message")))


def _text(content: object, depth: int = 0) -> str:
    """Return the text of a message: a string, or the texts of its parts. Only parts of types in `_TEXTS` count."""
    if depth == _DEEPEST:
        return ""
    if isinstance(content, list):
        return "".join(_text(part, depth + 1) for part in content)
    if isinstance(content, str):
        return as_utf8(content)
    if not isinstance(content, dict):
        return ""
    if "type" not in content and "text" not in content:
        return _as_json(content)  # the server has parsed the model's JSON
    return _text(content.get("text"), depth + 1) if content.get("type", "text") in _TEXTS else ""


def _calls(calls: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(calls, list):
        return ()
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    return tuple(
        (as_utf8(function.get("name")), _as_json(function.get("arguments")))
        for function in functions
        if isinstance(function, dict)
    )


def _as_json(value: object) -> str:
    return as_utf8(value if isinstance(value, str) else json.dumps(value))


def _count(usage: object, name: str) -> int | None:
    count: Any = usage.get(name) if isinstance(usage, Mapping) else None
    # `type`, because a bool is also an instance of int.
    return count if type(count) is int and 0 <= count < TOO_MUCH else None
