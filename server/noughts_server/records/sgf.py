"""Games as SGF FF[4] GM[4] (Gomoku and Renju), many in a file.

Black (`PB`, `B`) is the first mover. The format has moves, names, results, events, dates, times and openings of flat
boards up to 52x52. Everything without a property is in the game's comment (`GC`), one `name: value` a line. Times are
comments of moves, `C[12.5ms]`, and bots' scores are `V`, positive if good for Black. Files of c-gomoku-cli can be read
as well: they have the reason of the end in `TE`, Gomocup's number of a rule, and `C[opening move]`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from noughts_bots.gomocup.protocol import FREESTYLE, RULES
from noughts_referee.rules import FAULTS, Termination, Variant
from noughts_server.records.recorded_game import (
    Placed,
    RecordError,
    five_in_a_row,
    flat_variant,
    milliseconds,
    point,
    score_column,
    variant_of,
)
from noughts_server.records.sgf_grammar import Node, read_trees, written
from noughts_server.tables.recorded_game import RecordedGame, occasion, one_line

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOVES_A_LINE = 10
_RESULTS = {"1-0": "B+", "0-1": "W+", "1/2-1/2": "Draw", "*": "Void"}
_HOW = dict.fromkeys(FAULTS, "F") | {Termination.RESIGNED: "R", Termination.TIMEOUT: "T"}
_TERMINATIONS = {"R": str(Termination.RESIGNED), "T": str(Termination.TIMEOUT)}
_TIME = re.compile(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?) ?ms\b")
_SCORE = re.compile(r"[-+]?\d{1,99}(?:\.\d+)?(?:[eE](?:-\d{1,3}|\+?\d{1,2}))?")
_SEED = re.compile(r"\d{1,20}")
_SET_UP = ("AB", "AW", "AE")
_OPENING = "opening move"
_AGREED = re.compile(r"(?P<rule>\S+), (?P<stones>\d{1,4}) stones, begun by (?P<opener>.*)")
_BY_NUMBER = {str(FREESTYLE): "gomoku"} | {str(rule): name for name, rule in RULES.items()}
_BY_WORD = {"freestyle": "gomoku", "gomoku": "gomoku", "standard": "gomoku:exact", "renju": "renju", "caro": "caro"}
# What c-gomoku-cli writes in TE, in lower case.
_REASONS = {
    "five connection": Termination.LINE,
    "five-in-line": Termination.LINE,
    "fullfilled board": Termination.BOARD_FULL,
    "illegal move": Termination.ILLEGAL_MOVE,
    "forbidden": Termination.ILLEGAL_MOVE,
    "draw by adjudication": Termination.ADJUDICATED,
    "adjudication": Termination.RESIGNED,
    "time forfeit": Termination.TIMEOUT,
    "crash": Termination.CRASHED,
}


def read_sgf(lines: Iterable[str]) -> Iterator[Placed]:
    """Yield the games of a collection."""
    for line, nodes in read_trees(lines):
        try:
            yield Placed(line, nodes if isinstance(nodes, RecordError) else _game(nodes))
        except RecordError as error:
            yield Placed(line, error)


def _game(nodes: list[Node]) -> RecordedGame:
    root, said = nodes[0], _comments(nodes[0])
    game = _simple(root, "GM").strip()
    if game not in ("", "4"):
        raise RecordError(f"another game, GM[{game}]", "GM[4], Gomoku and Renju")
    if set_up := next((name for node in nodes for name in _SET_UP if name in node), ""):
        raise RecordError(f"stones that are set up, {set_up}[...]", "only moves, from the empty board")
    variant = _variant(root)
    moves: list[int] = []
    times: list[float] = []
    scores: dict[int, float] = {}
    opening = 0
    for node in nodes:
        for color in ("B", "W"):
            for value in node.get(color, ()):
                if color != "BW"[len(moves) % 2]:
                    raise RecordError(f"two moves by {color} in a row, {color}[{value}]", "Black and White in turn")
                moves.append(_cell(variant, value))
                comment = "".join(node.get("C", ()))
                if comment.startswith(_OPENING) and opening == len(moves) - 1:
                    opening += 1
                if _SCORE.fullmatch(score := "".join(node.get("V", ()))):
                    scores[len(moves) - 1] = float(score) * (1 if color == "B" else -1)
                found = _TIME.search(comment)
                times.append(milliseconds(found.group(1)) if found else 0.0)
    if not any("ms" in text for node in nodes for text in node.get("C", ())):
        times = []
    if last := said.get("last answer"):
        times += [milliseconds(found) for found in _TIME.findall(last)]
    result, termination = _ending(root, said)
    seed = said.get("seed", "")
    return RecordedGame(
        variant=variant.name,
        first=_simple(root, "PB"),
        second=_simple(root, "PW"),
        result=result,
        moves=tuple(moves),
        termination=termination,
        seed=int(seed) if _SEED.fullmatch(seed) else None,
        opening_plies=opening,
        times_ms=tuple(times),
        first_time=said.get("time of Black", ""),
        second_time=said.get("time of White", ""),
        fault=said.get("fault", ""),
        more=_agreement(said) | score_column(scores, len(moves)) | occasion(_simple(root, "EV"), _simple(root, "DT")),
    )


def _agreement(said: dict[str, str]) -> dict[str, Any]:
    """Return the agreement on the opening, as lines of JSON have it."""
    found = _AGREED.fullmatch(said.get("agreed by", ""))
    if found is None:
        return {}
    return {"opening": {"rule": found["rule"], "opener": found["opener"], "stones": int(found["stones"])}}


def _comments(root: Node) -> dict[str, str]:
    """Return the values of the game's comment by name."""
    pairs = (line.partition(": ") for line in "".join(root.get("GC", ())).splitlines())
    return {name: value for name, _, value in pairs}


def _simple(node: Node, name: str) -> str:
    return " ".join("".join(node.get(name, ())).splitlines())


def _variant(root: Node) -> Variant:
    size = _simple(root, "SZ").strip() or "15"
    columns, _, rows = size.partition(":")
    try:
        shape = int(columns), int(rows or columns)
    except ValueError:
        raise RecordError(f"the size SZ[{size}]", "a number as in SZ[15], or two as in SZ[20:15]") from None
    rule = _simple(root, "RU").strip()
    known = _BY_NUMBER.get(rule) or _BY_WORD.get(rule.lower())
    names = [rule] if rule else []
    if known:
        names = [*([f"{known}:{shape[0]}"] if shape[0] != 15 else []), known, *names]
    for name in names:
        try:
            variant = variant_of(name)
        except RecordError:
            continue
        if (variant.columns, variant.rows, variant.layers) == (*shape, 1):
            return variant
    if known in (None, "gomoku"):
        return variant_of(five_in_a_row(*shape))
    raise RecordError(f"the rule RU[{rule}] with SZ[{size}]", "a known variant for a board of that size")


def _cell(variant: Variant, value: str) -> int:
    if len(value) != 2 or not set(value) <= set(_LETTERS):
        raise RecordError(f"the move [{value}]", "two letters as in [hh], column and row from the top left")
    return point(variant, _LETTERS.index(value[0]), _LETTERS.index(value[1]), f"[{value}]")


def _ending(root: Node, said: dict[str, str]) -> tuple[str, str]:
    text = _simple(root, "RE").strip()
    winner, plus, how = text.partition("+")
    if plus and winner.upper() in ("B", "W"):
        result = "1-0" if winner.upper() == "B" else "0-1"
    elif text.lower() in ("0", "draw", "jigo"):
        result = "1/2-1/2"
    elif text.lower() in ("", "?", "void"):
        result = "*"
    else:
        raise RecordError(f"the result RE[{text}]", "B+ or W+ followed by R, T or F, or Draw, or Void")
    termination = said.get("termination") or _TERMINATIONS.get(how[:1].upper(), "")
    reason = _simple(root, "TE").lower()
    if not termination and reason:
        termination = next((str(ending) for words, ending in _REASONS.items() if words in reason), "")
    return result, termination


def sgf_text(record: RecordedGame, number: int = 1) -> str:
    """Return the game as a tree, with its number in the collection. Raises RecordError if the format cannot have it."""
    variant = flat_variant(record, "SGF")
    size = f"{variant.columns}" if variant.columns == variant.rows else f"{variant.columns}:{variant.rows}"
    how = next((letter for ending, letter in _HOW.items() if str(ending) == record.termination), "")
    result = _RESULTS[record.result] + (how if record.result in ("1-0", "0-1") else "")
    seed = "" if record.seed is None else str(record.seed)
    said = {"termination": record.termination, "seed": seed, "time of Black": record.first_time}
    said |= {"time of White": record.second_time, "fault": record.fault}
    agreed = record.more.get("opening")
    if isinstance(agreed, dict) and {"rule", "opener", "stones"} <= agreed.keys():
        said["agreed by"] = f"{agreed['rule']}, {agreed['stones']} stones, begun by {agreed['opener']}"
    beyond = record.times_ms[len(record.moves) :]
    if beyond:
        said["last answer"] = " ".join(f"{_number(time)}ms" for time in beyond)
    head = [
        written("FF", "4") + written("GM", "4") + written("CA", "UTF-8") + written("AP", "Noughts"),
        written("GN", str(number)) + written("SZ", size) + written("RU", variant.name),
        written("PB", record.first) + written("PW", record.second) + written("RE", result),
    ]
    if known := record.occasion:
        head.append("".join(written({"event": "EV", "date": "DT"}[name], value) for name, value in known.items()))
    if comments := "\n".join(f"{name}: {one_line(value)}" for name, value in said.items() if value):
        head.append(written("GC", comments))
    scores = record.scores or [None] * len(record.moves)
    moves = [_move(variant, record, ply, score) for ply, score in enumerate(scores)]
    rows = ["".join(moves[first : first + _MOVES_A_LINE]) for first in range(0, len(moves), _MOVES_A_LINE)]
    return "\n".join([f"(;{head[0]}", *head[1:], *rows]) + ")\n"


def _move(variant: Variant, record: RecordedGame, ply: int, score: float | None) -> str:
    cell = record.moves[ply]
    if not 0 <= cell < variant.cells:
        raise RecordError(f"the move {cell}", f"cells of {variant.name}, 0 to {variant.cells - 1}")
    row, column = divmod(cell, variant.columns)
    comments = [_OPENING] if ply < record.opening_plies else []
    if ply < len(record.times_ms):
        comments.append(f"{_number(record.times_ms[ply])}ms")
    comment = written("C", " ".join(comments)) if comments else ""
    # V is good for Black if it is positive.
    value = "" if score is None else written("V", _number(-score if ply % 2 else score))
    return f";{'BW'[ply % 2]}[{_LETTERS[column]}{_LETTERS[row]}]{value}{comment}"


def _number(value: float) -> str:
    return repr(int(value)) if value == int(value) else repr(value)
