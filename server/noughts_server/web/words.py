"""Filters of the page templates, which put values into words."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any

from markupsafe import Markup

from noughts_referee.rules import base_name, in_words
from noughts_server.competition.formats import format_named, format_of
from noughts_server.competition.score import Score
from noughts_server.tables.crosstable import level
from noughts_server.tables.standings import RankedEntry, TieBreak, lead, tie_notes

_TITLES = {
    "tictactoe": "Noughts and crosses",
    "tictactoe3d": "3D noughts and crosses",
    "qubic": "Qubic",
    "connect4": "Connect Four",
    "gomoku": "Gomoku",
    "gomoku20": "Gomoku, 20x20",
    "renju": "Renju",
    "caro": "Caro",
}
"""Titles of variants, by the part of their names before the first colon."""

_RULES = {
    "exact": "exactly five in a row",
    "20": "20x20",
}
"""The other parts of their names."""
_ENDINGS = {"line": "in a row", "timeout": "on time"}
"""Terminations whose words for players are not their names."""
_NUMBERS = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine"}
"""The numbers of pieces in a row that are written as words."""
_KEPT_END = 6
"""The characters at the end of a name that are always visible."""


def short(name: str) -> str:
    """Return `spring` for `tournaments/spring`, `mybot` for `bots/mybot/versions/3`."""
    return name.split("/")[1]


def bot(version: str) -> str:
    """Return `bots/mybot` for `bots/mybot/versions/3`."""
    return "/".join(version.split("/")[:2])


def number(name: str) -> str:
    """Return `7` for `tournaments/spring/games/7`."""
    return name.rpartition("/")[2]


def count(value: float) -> str:
    """Return e.g. `12,000`."""
    return f"{value:,.0f}"


def ranked_entry(row: Mapping[str, Any]) -> RankedEntry:
    """Return a row of standings for sentences on ties."""
    return RankedEntry(
        label=row["label"],
        score=Score(row["wins"], row["draws"], row["losses"]),
        points=row["points"],
        head_to_head=row["head_to_head"],
        sonneborn_berger=row["sonneborn_berger"],
        rank=row["rank"],
        tie_break=TieBreak[row["tie_break"].upper()] if row["tie_break"] else None,
    )


def points(value: float) -> str:
    """Return `2½` for 2.5 and `22,889½` for 22889.5."""
    whole, half = divmod(round(value * 2), 2)
    return f"{f'{whole:,}' if whole else ''}½" if half else f"{whole:,}"


def game(variant: str) -> str:
    """Return a variant in plain words: `Connect Four`, `30x30, 5 in a row`, `Gomoku, exactly five in a row`."""
    name, _, opening = variant.partition("+")
    shape = re.fullmatch(r"mnk:(\d+),(\d+),(\d+)", name)
    base, *rules = name.split(":")
    words = ["{}x{}, {} in a row".format(*shape.groups())] if shape else [_TITLES.get(base, base)]
    if not shape:
        words += (_RULES.get(rule, rule) for rule in rules)
    return ", ".join([*words, f"{opening} opening"] if opening else words)


def loser(game: Mapping[str, Any]) -> str:
    """Return the name of the player that lost the game."""
    return str({"1-0": game["second"], "0-1": game["first"]}.get(game["result"], "the loser"))


def cut(name: str) -> Markup:
    """Return a name that keeps its end if it is too long for its place, because versions differ at their ends."""
    if len(name) <= 2 * _KEPT_END:
        return Markup("{}").format(name)
    parts = Markup('<span class="cut"><span>{}</span><span>{}</span></span>')
    return parts.format(name[:-_KEPT_END], name[-_KEPT_END:])


def or_words(names: Iterable[str]) -> str:
    """Return `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def and_words(names: Sequence[str]) -> str:
    """Return `a, b and c`; the first names of more than four, and the number of the others."""
    shown = list(names[:4])
    last = f"{len(names) - 4:,} others" if len(names) > 4 else shown.pop()
    return f"{', '.join(shown)} and {last}" if shown else last


def until(stamp: str) -> str:
    """Return the time until then, e.g. `2 d 3 h`, `3 h 12 min`, `4 min`; empty if it is over."""
    minutes = max(0, math.ceil((datetime.fromisoformat(stamp) - datetime.now(UTC)).total_seconds() / 60))
    days, hours = minutes // 1440, minutes // 60
    if days:
        return f"{days} d {hours % 24} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min" if minutes else ""


def month(name: str) -> str:
    """Return `March 2026` for `2026-03`."""
    return f"{date.fromisoformat(f'{name}-01'):%B %Y}"


def ending(termination: str | None) -> str:
    """Return `board full` for `board_full`, and `on time` for `timeout`; `words.js` has the same for live games."""
    return _ENDINGS.get(termination or "") or in_words(termination or "")


def how_ended(game: Mapping[str, Any]) -> str:
    """Return how a game ended: `five in a row` for a line of five, `walkover` if nobody moved, else its ending."""
    won = game.get("winning_cells")
    if game["result"] == "*":
        return "void"
    if game["termination"] == "adjudicated" and not game["moves"]:
        return "walkover"
    if game["termination"] == "line" and won:
        return f"{_NUMBERS.get(len(won), len(won))} in a row"
    return ending(game["termination"])


def clock(micros: int | None) -> str:
    """Return the time on a clock: `1:05`, `0:07.3` if little is left, empty without one; `clock.js` has the same."""
    if micros is None:
        return ""
    minutes, rest = divmod(micros, 60_000_000)
    if minutes or rest >= 20_000_000:
        return f"{minutes}:{rest // 1_000_000:02d}"
    return f"0:{rest / 1_000_000:04.1f}"


def when(stamp: str | None) -> Markup:
    """Return a time in UTC, which the page's script converts to the reader's time zone."""
    time = Markup('<time datetime="{}">{} UTC</time>')
    return time.format(stamp, stamp[:16].replace("T", " ")) if stamp else Markup("")


def titled(tournament: dict[str, Any]) -> str:
    """Return a tournament's title; `Guest – minimax` for a game in the browser, whose players have numbered names."""
    title, owner = tournament["title"] or short(tournament["name"]), re.escape(tournament["owner"])
    players = re.fullmatch(rf"{owner}-guest-\d+ - (?:{owner}-(.+)-\d+|(.+))", title)
    return f"Guest \N{EN DASH} {players[1] or players[2]}" if players else title


def score(document: dict[str, Any]) -> Score:
    """Return the score in a document."""
    return Score(document["wins"], document["draws"], document["losses"])


def time_control(time: dict[str, Any] | None) -> str:
    """Return e.g. `60 s + 0.5 s a move`, `1 s a move` or `no clocks`."""
    if not time or not any(time.values()):
        return "no clocks"
    base = f"{_seconds(time['bank_us'])}\u00a0s" if time["bank_us"] else ""
    increment = f" + {_seconds(time['increment_us'])}\u00a0s a move" if time["increment_us"] else ""
    move = f"{_seconds(time['move_us'])}\u00a0s a move" if time["move_us"] else ""
    return ", at most ".join(filter(None, (base + increment, move)))


def _seconds(micros: int) -> str:
    return f"{micros / 1e6:g}"


def tie_break(word: str) -> str:
    """Return `head-to-head score` for `head_to_head`."""
    return TieBreak[word.upper()].value


def ties(rows: list[dict[str, Any]]) -> list[str]:
    """Return a sentence for each group of tied entries: the criterion that decided their order."""
    return tie_notes(map(ranked_entry, rows))


_FUNCTIONS = (
    lead,
    tie_break,
    ties,
    short,
    bot,
    number,
    count,
    points,
    game,
    loser,
    cut,
    and_words,
    until,
    month,
    level,
    ending,
    how_ended,
    clock,
    titled,
    when,
    time_control,
)
FILTERS: dict[str, Callable[..., Any]] = {
    "schedule": format_named,
    "format_of": format_of,
    "base_variant": base_name,
    **{function.__name__: function for function in _FUNCTIONS},
}
