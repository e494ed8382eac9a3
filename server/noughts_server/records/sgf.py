"""Games as SGF FF[4] GM[4] (Gomoku and Renju), many in a file.

Black (`PB`, `B`) is the first mover. The format has moves, names, results, rounds, events, dates, times and openings of
flat boards up to 52x52. Everything without a property is in the game's comment (`GC`), one `name: value` a line. Times
are comments of moves, `C[12.5ms]`, and bots' scores are `V`, positive if good for Black. A bot's comment follows on the
next lines of `C`, and what its search reported is `N[depth 12 nodes 34000 time 250ms pv h8 i9]`.

Files of other programs can be read as well: FF[1] to FF[4], several moves in a node, passes at the end, rules and
results in their words, White as the first mover, and as in files of c-gomoku-cli the reason of the end in `TE`, numbers
of rules, and `C[opening move]`.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from noughts_referee.rules import FAULTS, Termination, Thought, Variant, cell_name, read_cell, within_limits
from noughts_referee.rules.thoughts import LONGEST_PV
from noughts_server.core.text_files import codec_of
from noughts_server.records.endings import known_termination
from noughts_server.records.recorded_game import (
    PlacedGame,
    RecordError,
    cell_at,
    comments_by_ply,
    flat_variant,
    parse_milliseconds,
    score_column,
    thoughts_by_ply,
    without_forbidden_end,
)
from noughts_server.records.rule_names import check_unnamed_rule, named_rule, on_board
from noughts_server.records.sgf_grammar import Node, property_text, read_trees
from noughts_server.tables.recorded_game import RecordedGame, occasion, one_line, round_of

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_MOVES_A_LINE = 10
_RESULTS = {"1-0": "B+", "0-1": "W+", "1/2-1/2": "Draw", "*": "Void"}
_SUFFIXES = dict.fromkeys(FAULTS, "F") | {Termination.RESIGNED: "R", Termination.TIMEOUT: "T"}
"""The letters after the winner in `RE`: forfeit, resignation, time."""
_WINNER = re.compile(r"(b|w)(?:lack|hite)?(?:\s*\+\s*(.*)|\s+(?:wins?|won)\b(.*))?", re.DOTALL)
_DRAWS = ("0", "draw", "drawn", "jigo", "tie", "=", "1/2", "1/2-1/2")
_NO_RESULTS = ("", "?", "void", "unfinished", "unterminated", "suspended")
_REASONS = {"r": "resign", "t": "timeout", "f": "forfeit"}
"""Words of terminations, by the letter after the winner in `RE`."""
_TIME = re.compile(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?) ?ms\b")
_SCORE = re.compile(r"[-+]?\d{1,99}(?:\.\d+)?(?:[eE](?:-\d{1,3}|\+?\d{1,2}))?")
_THOUGHT = re.compile(
    r"(?:depth (?P<depth>\d{1,5}))? ?(?:nodes (?P<nodes>\d{1,16}))? ?"
    r"(?:time (?P<time>\d{1,9}(?:\.\d{1,9})?)ms)? ?(?:pv (?P<pv>.+))?"
)
_PROGRAM = "Noughts"
_SEED = re.compile(r"\d{1,20}")
_SET_UP = ("AB", "AW", "AE")
"""The properties of a position that is set up."""
_PLAYERS = {"B": "PB", "W": "PW"}
_CLOCKS = {"B": "time of Black", "W": "time of White"}
"""The names of the time controls in the game's comment."""
_TIME_FACTOR = "time factor"
_LARGEST_WITH_TT = 19
"""On boards up to this size, FF[1] to FF[3] write a pass as `tt`."""
_OPENING = "opening move"
"""The comment of a move of the opening, as in files of c-gomoku-cli."""
_AGREED = re.compile(r"(?P<rule>\S+), (?P<stones>\d{1,4}) stones, begun by (?P<opener>.*)")
_ENCODING = re.compile(rb"(?<![A-Za-z])CA\s*\[\s*([\w.: -]{1,40}?)\s*\]")


def declared_encoding(begin: bytes) -> str:
    """Return the encoding that the beginning of a collection declares; empty if it declares none."""
    match = _ENCODING.search(begin)
    return match.group(1).decode() if match else ""


def read_sgf(lines: Iterable[str], *, assumed: str = "", encoding: str = "") -> Iterator[PlacedGame]:
    """Yield the games of a collection.

    `assumed` is the variant of games that name no known rule. `encoding` is the codec of the file if it declares one:
    games that declare another are errors.
    """
    for line, nodes in read_trees(lines):
        try:
            if isinstance(nodes, RecordError):
                raise nodes
            _check_encoding(nodes, encoding)
            game = _game(nodes, assumed)
            if not (assumed or _game_property(nodes, "RU").strip()):
                check_unnamed_rule(game, partial(_game, nodes))
            yield PlacedGame(line, game)
        except RecordError as error:
            yield PlacedGame(line, error)


def _check_encoding(nodes: list[Node], encoding: str) -> None:
    """Raise RecordError for a game with text in another encoding than that of the file."""
    declared = nodes[0].text("CA").strip()
    if not (declared and encoding) or codec_of(declared) == encoding:
        return
    if not all("".join(values).isascii() for node in nodes for _, values in node.properties):
        fix = "Split the file, or name the encoding of all games: --encoding NAME."
        raise RecordError(f"a game with CA[{declared}]", f"one encoding in a file ({encoding})", fix)


class _Move(NamedTuple):
    """A move or a pass."""

    color: str
    """`B` or `W`."""
    value: str
    """The point as in the file; empty or `tt` for a pass."""
    node: Node
    is_alone: bool
    """Whether the node has no other move, so that its comment belongs to this one."""


def _game(nodes: list[Node], assumed: str) -> RecordedGame:
    facts = _facts(nodes)
    kind = _game_property(nodes, "GM").strip()
    if kind not in ("", "4"):
        raise RecordError(f"another game, GM[{kind}]", "GM[4], Gomoku and Renju")
    if set_up := next((name for name in _SET_UP if any(node.text(name) for node in nodes)), ""):
        fix = "Write the stones as moves in their order, or leave the game out."
        raise RecordError(f"stones that are set up, {set_up}[...]", "only moves, from the empty board", fix)
    variant = _variant(nodes, assumed)
    file_moves = _without_passes(_moves(nodes), variant)
    # White moves first in files of some servers.
    colors = "WB" if file_moves and file_moves[0].color == "W" else "BW"
    if colors == "WB" and variant.forbids is not None:
        raise RecordError(f"a first move by W in {variant.name}", "Black as the first mover")
    moves: list[int] = []
    times: list[float] = []
    scores: dict[int, float] = {}
    thoughts: dict[int, Thought] = {}
    comments: dict[int, str] = {}
    is_own = _game_property(nodes, "AP") == _PROGRAM
    opening = 0
    has_times = False
    for color, value, node, is_alone in file_moves:
        if color != colors[len(moves) % 2]:
            raise RecordError(f"two moves by {color} in a row, {color}[{value}]", "Black and White in turn")
        moves.append(_cell(variant, value))
        comment = node.text("C") if is_alone else ""
        if is_alone and _SCORE.fullmatch(score := node.text("V")):
            scores[len(moves) - 1] = float(score) * (1 if color == "B" else -1)
        if is_own and is_alone:
            comment, has_remark, remark = comment.partition("\n")
            if has_remark:
                comments[len(moves) - 1] = remark
            if thought := _thought(node.text("N"), variant):
                thoughts[len(moves) - 1] = thought
        # Here `comment` is the first line, without the comment of the bot.
        has_times = has_times or "ms" in comment
        if comment.startswith(_OPENING) and opening == len(moves) - 1:
            opening += 1
        time = _TIME.search(comment)
        times.append(parse_milliseconds(time.group(1)) if time else 0.0)
    if not has_times:
        times = []
    if last_answer := facts.get("last answer"):
        times += [parse_milliseconds(time) for time in _TIME.findall(last_answer)]
    result, termination = _ending(nodes, facts, colors)
    seed = facts.get("seed", "")
    first = colors[0]
    second = colors[1]
    return without_forbidden_end(
        RecordedGame(
            variant=variant.name,
            first=_game_property(nodes, _PLAYERS[first]),
            second=_game_property(nodes, _PLAYERS[second]),
            result=result,
            moves=tuple(moves),
            termination=termination,
            seed=int(seed) if _SEED.fullmatch(seed) else None,
            opening_plies=opening,
            times_ms=tuple(times),
            first_time=facts.get(_CLOCKS[first], ""),
            second_time=facts.get(_CLOCKS[second], ""),
            fault=facts.get("fault", ""),
            more=_agreement(facts)
            | _time_factor(facts)
            | ({"adjudication": facts["adjudication"]} if "adjudication" in facts else {})
            | _tournament(facts)
            | score_column(scores, len(moves))
            | comments_by_ply(comments)
            | thoughts_by_ply(thoughts)
            | round_of(_game_property(nodes, "RO"))
            | occasion(_game_property(nodes, "EV"), _game_property(nodes, "DT")),
        )
    )


def _moves(nodes: list[Node]) -> list[_Move]:
    """Return the moves and passes in their order."""
    moves = []
    for node in nodes:
        if "B" in node or "W" in node:
            points = [(name, value) for name, values in node.properties if name in ("B", "W") for value in values]
            moves += [_Move(color, value.strip(), node, len(points) == 1) for color, value in points]
    return moves


def _without_passes(moves: list[_Move], variant: Variant) -> list[_Move]:
    """Return the moves without passes at the end. Raises RecordError for a pass before a move."""
    passes = ("", "tt") if max(variant.columns, variant.rows) <= _LARGEST_WITH_TT else ("",)
    while moves and moves[-1].value in passes:
        moves = moves[:-1]
    for number, move in enumerate(moves, start=1):
        if move.value in passes:
            got = f"a pass as move {number}, {move.color}[{move.value}]"
            raise RecordError(got, "a stone: games with passes cannot be played or judged here")
    return moves


def _agreement(facts: dict[str, str]) -> dict[str, Any]:
    """Return the agreement on the opening, as lines of JSON have it."""
    match = _AGREED.fullmatch(facts.get("agreed by", ""))
    if match is None:
        return {}
    return {"opening": {"rule": match["rule"], "opener": match["opener"], "stones": int(match["stones"])}}


def _time_factor(facts: dict[str, str]) -> dict[str, Any]:
    """Return the factor of the times, as lines of JSON have it."""
    try:
        factor = float(facts[_TIME_FACTOR])
    except (KeyError, ValueError):
        return {}
    return {"time_factor": factor} if 0 < factor < math.inf else {}


def _tournament(facts: dict[str, str]) -> dict[str, Any]:
    """Return what the last game says about its tournament, as lines of JSON have it."""
    try:
        tournament = json.loads(facts.get("tournament", ""))
        json.dumps(tournament, allow_nan=False)  # raises ValueError for NaN and infinity
    except (ValueError, RecursionError):
        return {}
    return {"tournament": tournament} if isinstance(tournament, dict) else {}


def _facts(nodes: list[Node]) -> dict[str, str]:
    """Return the facts in the game's comment, by name."""
    pairs = (line.partition(": ") for line in nodes[0].text("GC").splitlines())
    return {name: value for name, _, value in pairs}


def _game_property(nodes: list[Node], name: str) -> str:
    """Return a property of the game on one line: that of the first node with a property of this name."""
    return next((" ".join(node.text(name).splitlines()) for node in nodes if name in node), "")


def _variant(nodes: list[Node], assumed: str) -> Variant:
    size = _game_property(nodes, "SZ").strip() or "15"
    columns, _, rows = size.partition(":")
    try:
        width = int(columns)
        height = int(rows or columns)
    except ValueError:
        raise RecordError(f"the size SZ[{size}]", "a number as in SZ[15], or two as in SZ[20:15]") from None
    rule = _game_property(nodes, "RU").strip()
    named_variant = named_rule(rule)
    for name in (rule, named_variant or assumed or ("" if rule else "gomoku")):
        if name and (variant := on_board(name, width, height)):
            return variant
    if named_variant or not rule:
        named = f"the rule RU[{rule}]" if rule else f"the variant {assumed}"
        raise RecordError(f"{named} with SZ[{size}]", "a known variant for a board of that size")
    fix = "Name the variant: --assume-variant gomoku."
    raise RecordError(f"the unknown rule RU[{rule}]", "Freestyle, Standard, Renju, Caro, or a variant", fix)


def _cell(variant: Variant, value: str) -> int:
    if len(value) != 2 or not set(value) <= set(_LETTERS):
        raise RecordError(f"the move [{value}]", "two letters as in [hh], column and row from the top left")
    column, row = (_LETTERS.index(letter) for letter in value)
    return cell_at(variant, column, row, f"[{value}]")


def _ending(nodes: list[Node], facts: dict[str, str], colors: str) -> tuple[str, str]:
    """Return the result and the termination of a game in which the first of these colors moved first."""
    text = _game_property(nodes, "RE").strip()
    lower_text = text.lower()
    reason = ""
    if match := _WINNER.fullmatch(lower_text):
        result = "1-0" if match.group(1).upper() == colors[0] else "0-1"
        reason = (match.group(2) or match.group(3) or "").strip()
    elif lower_text in _DRAWS:
        result = "1/2-1/2"
    elif lower_text in _NO_RESULTS:
        result = "*"
    else:
        raise RecordError(f"the result RE[{text}]", "B+ or W+ followed by R, T or F, or Draw, or Void")
    reasons = (facts.get("termination", ""), _REASONS.get(reason, reason), _game_property(nodes, "TE"))
    terminations = (known_termination(reason, result) for reason in reasons)
    return result, next(filter(None, terminations), "")


def sgf_text(record: RecordedGame, number: int = 1) -> str:
    """Return the game as a tree, with its number in the collection. Raises RecordError if the format cannot have it."""
    variant = flat_variant(record, "SGF")
    size = f"{variant.columns}" if variant.columns == variant.rows else f"{variant.columns}:{variant.rows}"
    suffix = next((letter for termination, letter in _SUFFIXES.items() if str(termination) == record.termination), "")
    result = _RESULTS[record.result] + (suffix if record.result in ("1-0", "0-1") else "")
    seed = "" if record.seed is None else str(record.seed)
    facts = {
        "termination": record.termination,
        "seed": seed,
        _CLOCKS["B"]: record.first_time,
        _CLOCKS["W"]: record.second_time,
        _TIME_FACTOR: "" if record.time_factor is None else f"{record.time_factor:g}",
        "fault": record.fault,
        "adjudication": record.adjudication,
    }
    agreement = record.more.get("opening")
    if isinstance(agreement, dict) and {"rule", "opener", "stones"} <= agreement.keys():
        facts["agreed by"] = f"{agreement['rule']}, {agreement['stones']} stones, begun by {agreement['opener']}"
    if isinstance(tournament := record.more.get("tournament"), dict):
        facts["tournament"] = json.dumps(tournament)
    if times_after_moves := record.times_ms[len(record.moves) :]:
        facts["last answer"] = " ".join(f"{_number(time)}ms" for time in times_after_moves)
    head = [
        property_text("FF", "4")
        + property_text("GM", "4")
        + property_text("CA", "UTF-8")
        + property_text("AP", _PROGRAM),
        property_text("GN", str(number)) + property_text("SZ", size) + property_text("RU", variant.name),
        property_text("PB", record.first) + property_text("PW", record.second) + property_text("RE", result),
    ]
    event = record.occasion
    occasions = {"EV": event.get("event", ""), "RO": one_line(record.round), "DT": event.get("date", "")}
    if any(occasions.values()):
        head.append("".join(property_text(name, value) for name, value in occasions.items() if value))
    if comment := "\n".join(f"{name}: {one_line(value)}" for name, value in facts.items() if value):
        head.append(property_text("GC", comment))
    # These properties of a record are computed at each access.
    thoughts = record.thoughts
    remarks = record.comments
    scores = record.scores or [None] * len(record.moves)
    moves = [
        _move(variant, record, ply, score, thoughts.get(ply), remarks.get(ply, "")) for ply, score in enumerate(scores)
    ]
    rows = ["".join(moves[first : first + _MOVES_A_LINE]) for first in range(0, len(moves), _MOVES_A_LINE)]
    return "\n".join([f"(;{head[0]}", *head[1:], *rows]) + ")\n"


def _move(
    variant: Variant, record: RecordedGame, ply: int, score: float | None, thought: Thought | None, remark: str
) -> str:
    """Return the node of a move. `remark` is the bot's comment."""
    cell = record.moves[ply]
    if not 0 <= cell < variant.cells:
        raise RecordError(f"the move {cell}", f"cells of {variant.name}, 0 to {variant.cells - 1}")
    row, column = divmod(cell, variant.columns)
    parts = [_OPENING] if ply < record.opening_plies else []
    if ply < len(record.times_ms):
        parts.append(f"{_number(record.times_ms[ply])}ms")
    comment = " ".join(parts) + (f"\n{remark}" if remark else "")
    color = "BW"[ply % 2]
    text = f";{color}[{_LETTERS[column]}{_LETTERS[row]}]"
    if score is not None:
        text += property_text("V", _number(score if color == "B" else -score))
    if thought is not None:
        text += property_text("N", _thought_text(thought, variant))
    if comment:
        text += property_text("C", comment)
    return text


def _thought_text(thought: Thought, variant: Variant) -> str:
    """Return the known values of a thought on one line, which viewers show as the name of the node."""
    parts = []
    if thought.depth:
        parts.append(f"depth {thought.depth}")
    if thought.nodes:
        parts.append(f"nodes {thought.nodes}")
    if thought.time_us:
        parts.append(f"time {_number(thought.time_us / 1000)}ms")
    if line := [cell_name(variant, cell) for cell in thought.pv if cell < variant.cells]:
        parts += ["pv", *line]
    return " ".join(parts)


def _thought(text: str, variant: Variant) -> Thought | None:
    """Return the thought in the name of a node; None if it is another name."""
    match = _THOUGHT.fullmatch(text)
    if match is None:
        return None
    time_us = round(float(match["time"] or 0) * 1000)
    cells = [read_cell(variant, name) for name in (match["pv"] or "").split()[:LONGEST_PV]]
    pv = tuple(-1 if cell is None else cell for cell in cells)
    thought = Thought(depth=int(match["depth"] or 0), nodes=int(match["nodes"] or 0), time_us=time_us, pv=pv)
    return within_limits(thought, variant.cells, ())


def _number(value: float) -> str:
    """Return a finite number, without a fraction if it is whole."""
    return repr(int(value)) if value == int(value) else repr(value)
