"""The messages to a model, made from templates: the rules of the variant, the board, and the moves so far."""

from pathlib import Path
from string import Template

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

from noughts_bots.language_models.view import View
from noughts_referee.rules import Board, Position, base_name, members

_FOLDER = Path(__file__).parent
DEFAULT_PROMPT = _FOLDER / "prompt.txt"
_TEMPLATES = Environment(
    loader=FileSystemLoader(_FOLDER), autoescape=select_autoescape(), undefined=StrictUndefined, trim_blocks=True
)


def instructions(template: str, view: View, answer: str) -> str:
    """Return the first message: the template with `$rules` and `$answer` replaced.

    `answer` describes the form of an answer; its `$cell` is replaced by the name of the first cell.
    """
    answer = Template(answer).safe_substitute(cell=view.names[view.drawn[0]])
    return Template(template).safe_substitute(rules=rules(view), answer=answer)


def rules(view: View) -> str:
    """Return the rules of the variant in sentences, which the template makes from the variant's data."""
    variant = view.variant
    board = Board(variant.columns, variant.rows, variant.layers)
    length = max(map(len, variant.line_cells), default=1)
    return _TEMPLATES.get_template("rules.jinja").render(
        view=view,
        variant=variant,
        name=base_name(variant.name),
        members=members,
        length=length,
        longer=length < max(board),
        straight=set(board.lines(length)) == set(variant.lines),
        falls=variant.gravity and variant.supports == board.beneath(),
    )


def question(view: View, position: Position, *, hints: bool) -> str:
    """Return the message that asks for a move; with `hints`, it lists the legal ones."""
    signs = []
    for cell in view.drawn:
        sign = "."
        if position.own >> cell & 1:
            sign = view.marks[position.side]
        elif position.opponent >> cell & 1:
            sign = view.marks[1 - position.side]
        signs.append(sign)
    return _TEMPLATES.get_template("question.jinja").render(view=view, position=position, hints=hints, signs=signs)
