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
_HOW = dict.fromkeys(FAULTS, "F") | {Termination.RESIGNED: "R", Termination.TIMEOUT: "T"}
_WINNER = re.compile(r"(b|w)(?:lack|hite)?(?:\s*\+\s*(.*)|\s+(?:wins?|won)\b(.*))?", re.DOTALL)
_DRAWS = ("0", "draw", "drawn", "jigo", "tie", "=", "1/2", "1/2-1/2")
_NO_RESULTS = ("", "?", "void", "unfinished", "unterminated", "suspended")
_REASONS = {"r": "resign", "t": "timeout", "f": "forfeit"}
_TIME = re.compile(r"(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?) ?ms\b")
_SCORE = re.compile(r"[-+]?\d{1,99}(?:\.\d+)?(?:[eE](?:-\d{1,3}|\+?\d{1,2}))?")
_THOUGHT = re.compile(
    r"(?:depth (?P<depth>\d{1,5}))? ?(?:nodes (?P<nodes>\d{1,16}))? ?"
    r"(?:time (?P<time>\d{1,9}(?:\.\d{1,9})?)ms)? ?(?:pv (?P<pv>.+))?"
)
_PROGRAM = "Noughts"
_SEED = re.compile(r"\d{1,20}")
_SET_UP = ("AB", "AW", "AE")
_LARGEST_WITH_TT = 19
"""On boards up to this size, FF[1] to FF[3] write a pass as `tt`."""
_OPENING = "opening move"
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
            if not (assumed or _simple(nodes, "RU").strip()):
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
    color: str
    value: str
    node: Node
    is_alone: bool
    """Whether the node has no other move, so that its comment belongs to this one."""


def _game(nodes: list[Node], assumed: str) -> RecordedGame:
    said = _comments(nodes)
    game = _simple(nodes, "GM").strip()
    if game not in ("", "4"):
        raise RecordError(f"another game, GM[{game}]", "GM[4], Gomoku and Renju")
    if set_up := next((each for each in _SET_UP if any(node.text(each) for node in nodes)), ""):
        fix = "Write the stones as moves in their order, or leave the game out."
        raise RecordError(f"stones that are set up, {set_up}[...]", "only moves, from the empty board", fix)
    variant = _variant(nodes, assumed)
    played = _without_passes(_moves(nodes), variant)
    # White moves first in files of some servers.
    colors = "WB" if played and played[0].color == "W" else "BW"
    if colors == "WB" and variant.forbids is not None:
        raise RecordError(f"a first move by W in {variant.name}", "Black as the first mover")
    moves: list[int] = []
    times: list[float] = []
    scores: dict[int, float] = {}
    thoughts: dict[int, Thought] = {}
    comments: dict[int, str] = {}
    is_own = _simple(nodes, "AP") == _PROGRAM
    opening = 0
    has_times = False
    for color, value, node, is_alone in played:
        if color != colors[len(moves) % 2]:
            raise RecordError(f"two moves by {color} in a row, {color}[{value}]", "Black and White in turn")
        moves.append(_cell(variant, value))
        comment = node.text("C") if is_alone else ""
        if is_alone and _SCORE.fullmatch(score := node.text("V")):
            scores[len(moves) - 1] = float(score) * (1 if color == "B" else -1)
        if is_own and is_alone:
            comment, has_more, rest = comment.partition("\n")
            if has_more:
                comments[len(moves) - 1] = rest
            if thought := _thought(node.text("N"), variant):
                thoughts[len(moves) - 1] = thought
        # What follows uses only our part of the comment, not the bot's.
        has_times = has_times or "ms" in comment
        if comment.startswith(_OPENING) and opening == len(moves) - 1:
            opening += 1
        text = _TIME.search(comment)
        times.append(parse_milliseconds(text.group(1)) if text else 0.0)
    if not has_times:
        times = []
    if last := said.get("last answer"):
        times += [parse_milliseconds(text) for text in _TIME.findall(last)]
    result, termination = _ending(nodes, said, colors)
    seed = said.get("seed", "")
    players, clocks = ("PB", "PW"), ("time of Black", "time of White")
    first, second = (0, 1) if colors == "BW" else (1, 0)
    return without_forbidden_end(
        RecordedGame(
            variant=variant.name,
            first=_simple(nodes, players[first]),
            second=_simple(nodes, players[second]),
            result=result,
            moves=tuple(moves),
            termination=termination,
            seed=int(seed) if _SEED.fullmatch(seed) else None,
            opening_plies=opening,
            times_ms=tuple(times),
            first_time=said.get(clocks[first], ""),
            second_time=said.get(clocks[second], ""),
            fault=said.get("fault", ""),
            more=_agreement(said)
            | _tournament(said)
            | score_column(scores, len(moves))
            | comments_by_ply(comments)
            | thoughts_by_ply(thoughts)
            | round_of(_simple(nodes, "RO"))
            | occasion(_simple(nodes, "EV"), _simple(nodes, "DT")),
        )
    )


def _moves(nodes: list[Node]) -> list[_Move]:
    """Return the moves and passes in their order."""
    played = []
    for node in nodes:
        if "B" in node or "W" in node:
            here = [(name, value) for name, values in node.properties if name in ("B", "W") for value in values]
            played += [_Move(color, value.strip(), node, len(here) == 1) for color, value in here]
    return played


def _without_passes(played: list[_Move], variant: Variant) -> list[_Move]:
    """Return the moves without passes at the end. Raises RecordError for a pass before a move."""
    passes = ("", "tt") if max(variant.columns, variant.rows) <= _LARGEST_WITH_TT else ("",)
    while played and played[-1].value in passes:
        played = played[:-1]
    for number, move in enumerate(played, start=1):
        if move.value in passes:
            got = f"a pass as move {number}, {move.color}[{move.value}]"
            raise RecordError(got, "a stone: games with passes cannot be played or judged here")
    return played


def _agreement(said: dict[str, str]) -> dict[str, Any]:
    """Return the agreement on the opening, as lines of JSON have it."""
    match = _AGREED.fullmatch(said.get("agreed by", ""))
    if match is None:
        return {}
    return {"opening": {"rule": match["rule"], "opener": match["opener"], "stones": int(match["stones"])}}


def _tournament(said: dict[str, str]) -> dict[str, Any]:
    """Return what the last game says about its tournament, as lines of JSON have it."""
    try:
        facts = json.loads(said.get("tournament", ""))
    except (ValueError, RecursionError):
        return {}
    return {"tournament": facts} if isinstance(facts, dict) else {}


def _comments(nodes: list[Node]) -> dict[str, str]:
    """Return the values of the game's comment by name."""
    pairs = (line.partition(": ") for line in nodes[0].text("GC").splitlines())
    return {name: value for name, _, value in pairs}


def _simple(nodes: list[Node], name: str) -> str:
    """Return a property of the game, which the first node that has it holds, on one line."""
    return next((" ".join(node.text(name).splitlines()) for node in nodes if name in node), "")


def _variant(nodes: list[Node], assumed: str) -> Variant:
    size = _simple(nodes, "SZ").strip() or "15"
    columns, _, rows = size.partition(":")
    try:
        width = int(columns)
        height = int(rows or columns)
    except ValueError:
        raise RecordError(f"the size SZ[{size}]", "a number as in SZ[15], or two as in SZ[20:15]") from None
    rule = _simple(nodes, "RU").strip()
    known = named_rule(rule)
    for name in (rule, known or assumed or ("" if rule else "gomoku")):
        if name and (variant := on_board(name, width, height)):
            return variant
    if known or not rule:
        named = f"the rule RU[{rule}]" if rule else f"the variant {assumed}"
        raise RecordError(f"{named} with SZ[{size}]", "a known variant for a board of that size")
    fix = "Name the variant: --assume-variant gomoku."
    raise RecordError(f"the unknown rule RU[{rule}]", "Freestyle, Standard, Renju, Caro, or a variant", fix)


def _cell(variant: Variant, value: str) -> int:
    if len(value) != 2 or not set(value) <= set(_LETTERS):
        raise RecordError(f"the move [{value}]", "two letters as in [hh], column and row from the top left")
    return cell_at(variant, _LETTERS.index(value[0]), _LETTERS.index(value[1]), f"[{value}]")


def _ending(nodes: list[Node], said: dict[str, str], colors: str) -> tuple[str, str]:
    """Return the result and the termination of a game in which the first of these colors moved first."""
    text = _simple(nodes, "RE").strip()
    plain = text.lower()
    how = ""
    if match := _WINNER.fullmatch(plain):
        result = "1-0" if match.group(1).upper() == colors[0] else "0-1"
        how = (match.group(2) or match.group(3) or "").strip()
    elif plain in _DRAWS:
        result = "1/2-1/2"
    elif plain in _NO_RESULTS:
        result = "*"
    else:
        raise RecordError(f"the result RE[{text}]", "B+ or W+ followed by R, T or F, or Draw, or Void")
    endings = (said.get("termination", ""), _REASONS.get(how, how), _simple(nodes, "TE"))
    return result, next(filter(None, (known_termination(each, result) for each in endings)), "")


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
    if isinstance(facts := record.more.get("tournament"), dict):
        said["tournament"] = json.dumps(facts)
    beyond = record.times_ms[len(record.moves) :]
    if beyond:
        said["last answer"] = " ".join(f"{_number(time)}ms" for time in beyond)
    head = [
        property_text("FF", "4")
        + property_text("GM", "4")
        + property_text("CA", "UTF-8")
        + property_text("AP", _PROGRAM),
        property_text("GN", str(number)) + property_text("SZ", size) + property_text("RU", variant.name),
        property_text("PB", record.first) + property_text("PW", record.second) + property_text("RE", result),
    ]
    known = record.occasion
    occasions = {"EV": known.get("event", ""), "RO": one_line(record.round), "DT": known.get("date", "")}
    if any(occasions.values()):
        head.append("".join(property_text(name, value) for name, value in occasions.items() if value))
    if comments := "\n".join(f"{name}: {one_line(value)}" for name, value in said.items() if value):
        head.append(property_text("GC", comments))
    scores, thoughts, remarks = record.scores or [None] * len(record.moves), record.thoughts, record.comments
    moves = [
        _move(variant, record, ply, score, thoughts.get(ply), remarks.get(ply, "")) for ply, score in enumerate(scores)
    ]
    rows = ["".join(moves[first : first + _MOVES_A_LINE]) for first in range(0, len(moves), _MOVES_A_LINE)]
    return "\n".join([f"(;{head[0]}", *head[1:], *rows]) + ")\n"


def _move(
    variant: Variant, record: RecordedGame, ply: int, score: float | None, thought: Thought | None, remark: str
) -> str:
    cell = record.moves[ply]
    if not 0 <= cell < variant.cells:
        raise RecordError(f"the move {cell}", f"cells of {variant.name}, 0 to {variant.cells - 1}")
    row, column = divmod(cell, variant.columns)
    comments = [_OPENING] if ply < record.opening_plies else []
    if ply < len(record.times_ms):
        comments.append(f"{_number(record.times_ms[ply])}ms")
    text = " ".join(comments) + (f"\n{remark}" if remark else "")
    comment = property_text("C", text) if text else ""
    if thought is not None:
        comment = property_text("N", _thought_text(thought, variant)) + comment
    # V is good for Black if it is positive.
    value = "" if score is None else property_text("V", _number(-score if ply % 2 else score))
    return f";{'BW'[ply % 2]}[{_LETTERS[column]}{_LETTERS[row]}]{value}{comment}"


def _thought_text(thought: Thought, variant: Variant) -> str:
    """Return the known values of a thought on one line, which viewers show as the name of the node."""
    parts = [f"depth {thought.depth}"] if thought.depth else []
    parts += [f"nodes {thought.nodes}"] if thought.nodes else []
    parts += [f"time {_number(thought.time_us / 1000)}ms"] if thought.time_us else []
    line = [cell_name(variant, cell) for cell in thought.pv if cell < variant.cells]
    return " ".join([*parts, "pv", *line] if line else parts)


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
    return repr(int(value)) if value == int(value) else repr(value)
