"""A bot's evaluation of a position: the board with its cells coloured by score."""

from collections.abc import Mapping

from rich.console import Group
from rich.text import Text

from noughts_bots.reference.ask import Answer
from noughts_referee.rules import Position, cell_name, column_name

_MARKS = {"X": "bold cyan", "O": "bold magenta"}
_QUIET = "bright_black"
# From the worst score to the best: blue, cyan, green, yellow, red, all dark enough for white letters.
_HEAT = ("#1f3a6e", "#1c5f7a", "#1d6b4a", "#5c6b1a", "#8a5a12", "#9a2d1c")
_LONGEST_SHOWN = 36
"""Positions with at most this many cells are repeated in the heading."""
_BETWEEN_LAYERS = "   "


def heat_map(position: Position, answer: Answer, width: int) -> Group:
    """Return the board in at most `width` characters if possible; the scores are printed if they fit."""
    variant = position.variant
    heat = _heat(answer.scores)
    numbers = {cell: f"{score:g}" for cell, score in answer.scores.items()}
    widest = max(map(len, numbers.values()), default=1)
    layers, margin = variant.layers, len(str(variant.rows))

    def fits(inner: int) -> bool:
        return layers * (margin + 1 + (inner + 2) * variant.columns) + (layers - 1) * len(_BETWEEN_LAYERS) <= width

    with_numbers = bool(numbers) and fits(widest)
    inner = widest if with_numbers else 1
    # If not even this fits, neighbours share one column for a blank or a bracket.
    shared = not with_numbers and not fits(inner)

    def drawn(cell: int, closing: str) -> tuple[Text, str]:
        """Return the cell, and the character before its right neighbour if they share one."""
        mark = _mark(position, cell)
        shown = mark or (numbers.get(cell, ".") if with_numbers else ".")
        before, after = " ", " "
        if not mark and cell == answer.move:
            before, after = "[", "]"
        elif not mark and cell in answer.candidates:
            before, after = "(", ")"
        style = _MARKS[mark] if mark else f"white on {heat[cell]}" if cell in heat else ""
        if not mark and cell == answer.move:
            style += " bold underline"
        if shared:
            return Text.assemble(closing if before == " " else before, (shown, style)), after
        return Text(f"{before}{shown.center(inner)}{after}", style=style), ""

    mover = "XO"[position.side]
    lines = [Text.assemble(f"{mover} plays ", (cell_name(variant, answer.move), "bold"))]
    if variant.cells <= _LONGEST_SHOWN:
        lines = [Text.assemble((str(position), "bold"), "   ", lines[0])]
    lines.append(_headings(position, inner + 2, shared=shared))
    for row in range(variant.rows):
        line = Text(no_wrap=True)
        for layer in range(layers):
            line.append(_BETWEEN_LAYERS if layer else "")
            line.append(f"{variant.rows - row:>{margin}} ", style=_QUIET)
            first = (layer * variant.rows + row) * variant.columns
            closing = " "
            for cell in range(first, first + variant.columns):
                text, closing = drawn(cell, closing)
                line.append_text(text)
            line.append(closing)
        lines.append(line)
    lines.append(_legend(answer, position, heat))
    return Group(*lines, Text(""))


def _headings(position: Position, pitch: int, *, shared: bool) -> Text:
    variant = position.variant
    margin = " " * (len(str(variant.rows)) + 1)
    names = [column_name(column) for column in range(variant.columns)]
    letters = "".join(f"{name:>2}" for name in names) + " " if shared else "".join(name.center(pitch) for name in names)
    return Text(_BETWEEN_LAYERS.join([margin + letters] * variant.layers), style=_QUIET, no_wrap=True)


def _mark(position: Position, cell: int) -> str:
    """Return the mark on the cell; empty if it is free."""
    if position.own >> cell & 1:
        return "XO"[position.side]
    return "XO"[1 - position.side] if position.opponent >> cell & 1 else ""


def _heat(scores: Mapping[int, float]) -> dict[int, str]:
    """Return each cell's colour by the rank of its score, because some scores grow too fast for even steps."""
    ranks = {score: rank for rank, score in enumerate(sorted(set(scores.values())))}
    top = max(1, len(ranks) - 1)
    steps = len(_HEAT) - 1
    if len(ranks) == 1:
        return dict.fromkeys(scores, _HEAT[steps // 2])
    return {cell: _HEAT[round(ranks[score] * steps / top)] for cell, score in scores.items()}


def _legend(answer: Answer, position: Position, heat: Mapping[int, str]) -> Text:
    text = Text("[ ] the move", style=_QUIET)
    others = len(answer.candidates) - (answer.move in answer.candidates)
    if others:
        text.append(f", ( ) the {others} other{'s' if others > 1 else ''} it chose among")
    if heat:
        text.append(f"; scores for {'XO'[position.side]} from")
        ordered = sorted(answer.scores, key=answer.scores.__getitem__)
        for word, cell in ((" ", ordered[0]), (" to ", ordered[-1])):
            text.append(word).append(f" {answer.scores[cell]:g} ", style=f"white on {heat[cell]}")
    else:
        text.append("; this bot gives no scores")
    return text
