"""The forms in which a model can answer, and the verdict on an answer. Nothing is searched for in prose."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from noughts_bots.language_models.view import View
from noughts_referee.rules import Position, placed_wrongly

_LAST_LINE = re.compile(r"MOVE: *(\S+)")


class Verdict(NamedTuple):
    kind: str
    """As in `record.Answer`."""
    cell: int | None = None
    reason: str = ""
    """Why the answer is not a legal move, for the model; a sentence."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    named: Callable[[str], str | None]
    """Return the name in an answer; None if the answer has another form."""
    instructions: str
    """For the prompt; `$cell` stands for the name of a cell."""
    request: Mapping[str, Any]
    """Parameters of the request."""

    def said(self, message: Any) -> str:
        """Return the text of the model's message that counts as its answer."""
        calls: Any = (message.tool_calls or ()) if "tools" in self.request else ()
        if len(calls) == 1 and calls[0].type == "function" and calls[0].function.name == "play":
            return str(calls[0].function.arguments)
        return message.content or message.refusal or ""

    def judge(self, said: str, view: View, position: Position) -> Verdict:
        """Return the verdict on an answer. It depends on nothing else, so that records can be checked."""
        name = self.named(said)
        if name is None:
            return Verdict("unparsable", None, "The answer does not have the required form.")
        cell = {each: cell for cell, each in view.names.items()}.get(name.strip().lower())
        if cell is None:
            return Verdict("unparsable", None, f"{name} is not the name of a cell.")
        if cell in position.free:
            return Verdict("legal", cell)
        wrong = placed_wrongly(position.variant, position.own, position.opponent, cell, position.side)
        return Verdict("illegal", cell, f"{name} {wrong.partition(', which ')[2]}.")


def _in_json(said: str) -> str | None:
    try:
        document = json.loads(said)
    except (ValueError, RecursionError):
        return None
    move = document.get("move") if isinstance(document, dict) and len(document) == 1 else None
    return move if isinstance(move, str) else None


def _in_last_line(said: str) -> str | None:
    found = _LAST_LINE.fullmatch(said.rstrip().rpartition("\n")[2].strip())
    return found and found[1]


_NAMED = {"schema": _in_json, "tool": _in_json, "text": _in_last_line}
FORMS: Mapping[str, AnswerForm] = {
    name: AnswerForm(_NAMED[name], **form)
    for name, form in json.loads(Path(__file__).with_name("forms.json").read_text()).items()
}
"""By the value of the option `answer`."""
