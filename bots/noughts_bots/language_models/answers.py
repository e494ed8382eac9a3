"""The forms in which a model can answer, and the verdicts on its answers.

An answer counts only in the required form: a cell that is named in other text does not count.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from noughts_bots.language_models.completion import Completion
from noughts_bots.language_models.record import Question, as_utf8
from noughts_bots.language_models.view import View, view_of
from noughts_referee.rules import Position, Variant, side_seed, why_illegal

_LAST_LINE = re.compile(r"MOVE: *(\S+)")


class Verdict(NamedTuple):
    """The verdict on an answer."""

    kind: str
    """`legal`, `illegal` or `unparsable`, as in `record.Answer`."""
    cell: int | None = None
    reason: str = ""
    """A sentence for the model: the reason why the answer is not a legal move."""


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """A form in which a model can answer."""

    instructions: str
    """The instructions for the prompt; `$cell` stands for the name of a cell."""
    request: Mapping[str, Any]
    """Parameters of the request that make the endpoint send the answer as JSON; empty for an answer in plain text."""

    def text_of(self, completion: Completion) -> str:
        """Return the text that counts as the model's answer."""
        if "tools" in self.request and [name for name, _ in completion.calls] == ["play"]:
            [(_, arguments)] = completion.calls
            return arguments
        return completion.text

    def judge(self, text: str, view: View, position: Position) -> Verdict:
        """Return the verdict on an answer, which depends only on the arguments: recorded verdicts can be checked."""
        name = _move_in_json(text) if self.request else _move_in_last_line(text)
        if name is None:
            return Verdict("unparsable", None, "The answer does not have the required form.")
        cell = {cell_name: cell for cell, cell_name in view.names.items()}.get(name.strip().lower())
        if cell is None:
            return Verdict("unparsable", None, f"{as_utf8(name)} is not the name of a cell.")
        if cell in position.free:
            return Verdict("legal", cell)
        why = why_illegal(position.variant, position.own, position.opponent, cell, position.side)
        return Verdict("illegal", cell, f"{name} {why}.")


def _move_in_json(text: str) -> str | None:
    with suppress(ValueError, RecursionError):
        match json.loads(text):
            case {"move": str(move), **others} if not others:
                return move
    return None


def _move_in_last_line(text: str) -> str | None:
    match = _LAST_LINE.fullmatch(text.rstrip().rpartition("\n")[2].strip())
    return match[1] if match else None


_MOVE_SCHEMA = {
    "type": "object",
    "properties": {"move": {"type": "string", "description": "The name of the cell"}},
    "required": ["move"],
    "additionalProperties": False,
}
FORMS: Mapping[str, AnswerForm] = {
    "schema": AnswerForm(
        instructions=(
            'Answer only with a JSON object that names the cell of your move, for example {"move": "$cell"}.'
        ),
        request={
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "move", "strict": True, "schema": _MOVE_SCHEMA},
            }
        },
    ),
    "tool": AnswerForm(
        instructions=(
            "Answer with one call of the function `play`, with the name of the cell of your move, for example $cell."
        ),
        request={
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "play",
                        "description": "Play a move",
                        "strict": True,
                        "parameters": _MOVE_SCHEMA,
                    },
                }
            ],
            "tool_choice": {"type": "function", "function": {"name": "play"}},
        },
    ),
    "text": AnswerForm(
        instructions=(
            "You can think first. The last line of your answer must be MOVE: and the name of the cell of your move, "
            "for example MOVE: $cell"
        ),
        request={},
    ),
}
"""The forms of answers, by the value of the option `answer`."""


def wrong_verdicts(question: Question, variant: Variant, moves: Sequence[int], ply: int, seed: int) -> Iterator[str]:
    """Judge recorded answers again, and yield a sentence for each difference.

    Args:
        moves: the moves of the game up to the model's move at `ply`. That move is missing if the model did not move.
        seed: the seed of the game.
    """
    if question.answer not in FORMS:
        yield f"got answers as {question.answer!r}, expected {' or '.join(FORMS)}"
        return
    position = Position.after(variant, moves[:ply], seed=side_seed(seed, ply & 1))
    view = view_of(variant, position.seed, scrambled=question.scramble)
    for answer in question.answers:
        verdict = FORMS[question.answer].judge(answer.said, view, position)
        if verdict.kind != answer.verdict:
            yield f"got verdict {answer.verdict} on {answer.said!r}, expected {verdict.kind}"
        elif verdict.kind == "legal" and list(moves[ply:]) not in ([], [verdict.cell]):
            yield f"got {answer.said!r}, expected an answer that names the move"
        elif answer is question.answers[-1] and verdict.kind != "legal" and moves[ply:]:
            yield f"got a move after the {verdict.kind} answer {answer.said!r}, expected the end of the game"
