"""Filters of the page templates, which put values into words."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from http import HTTPStatus
from typing import Any

from babel.dates import format_skeleton
from markupsafe import Markup

from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import CONCEDED_FAULT, base_name, in_words
from noughts_server.competition.formats import format_named, format_of
from noughts_server.competition.score import Score
from noughts_server.core.board_geometry import geometry, longest_line
from noughts_server.core.messages import N_, _, active_language, ngettext, number_text, pgettext
from noughts_server.tables.crosstable import level
from noughts_server.tables.standings import ON_REQUEST, RankedEntry, TieBreak, displayed_place, lead, tie_notes
from noughts_server.web.upstream import Failure

_TITLES = {
    "tictactoe": N_("Noughts and crosses"),
    "tictactoe3d": N_("3D noughts and crosses"),
    "qubic": N_("Qubic"),
    "connect4": N_("Connect Four"),
    "gomoku": N_("Gomoku"),
    "gomoku20": N_("Gomoku, 20 × 20"),
    "renju": N_("Renju"),
    "caro": N_("Caro"),
}
"""Titles of variants, by the part of their names before the first colon."""

_RULES = {
    "exact": N_("exactly five in a row"),
    "20": N_("20 × 20"),
}
"""The other parts of their names."""
_ENDINGS = {
    "line": N_("in a row"),
    "board_full": N_("board full"),
    "illegal_move": N_("illegal move"),
    "timeout": N_("on time"),
    "disconnected": N_("disconnected"),
    "crashed": N_("crashed"),
    "resigned": N_("resigned"),
    "adjudicated": N_("adjudicated"),
    "void": N_("void"),
}
"""Terminations in the words of players."""
_DEEDS = {
    "illegal_move": N_("%(loser)s made an illegal move"),
    "timeout": N_("%(loser)s ran out of time"),
    "disconnected": N_("%(loser)s lost the connection"),
    "crashed": N_("%(loser)s crashed"),
    "resigned": N_("%(loser)s resigned"),
}
"""What the loser did, by termination, for sentences."""
_IN_A_ROW = {
    3: N_("three in a row"),
    4: N_("four in a row"),
    5: N_("five in a row"),
    6: N_("six in a row"),
    7: N_("seven in a row"),
    8: N_("eight in a row"),
    9: N_("nine in a row"),
}
"""The numbers of pieces in a row that are written as words."""
_STATES = {
    "open": N_("open"),
    "running": N_("running"),
    "paused": N_("paused"),
    "finished": N_("finished"),
    "cancelled": N_("cancelled"),
    "waiting": N_("waiting"),
    "ended": N_("ended"),
}
"""States of tournaments and games."""
_KEPT_END = 6
"""The characters at the end of a name that are always visible."""
_MOST_IN_ROW = 20
"""The characters of a name that a row of a table always has room for."""


def short(name: str) -> str:
    """Return `spring` for `tournaments/spring`, `mybot` for `bots/mybot/versions/3`."""
    return name.split("/")[1]


def bot(version: str) -> str:
    """Return `bots/mybot` for `bots/mybot/versions/3`."""
    return "/".join(version.split("/")[:2])


def number(name: str) -> str:
    """Return `7` for `tournaments/spring/games/7`."""
    return name.rpartition("/")[2]


def resource(name: str) -> str:
    """Return a resource in words: `bot “mybot”` for `bots/mybot`. Other names are unchanged."""
    match name.split("/"):
        case ["bots", bot_name, "versions", version]:
            return f"version {version} of bot “{bot_name}”"
        case ["tournaments", tournament, "games", ordinal]:
            return f"game {ordinal} of tournament “{tournament}”"
        case ["tournaments", tournament, "entries", label]:
            return f"entry “{label}” of tournament “{tournament}”"
        case [("bots" | "tournaments" | "tests" | "tokens" | "invitations") as kind, each]:
            return f"{kind.removesuffix('s')} “{each}”"
    return name


def _absent(name: str) -> str:
    """Return the sentence that there is no such resource; empty if the name is none."""
    match name.split("/"):
        case ["bots", bot_name]:
            return _("There is no bot “%(bot)s”.", bot=bot_name)
        case ["tournaments", tournament]:
            return _("There is no tournament “%(tournament)s”.", tournament=tournament)
        case ["tournaments", tournament, "games", ordinal]:
            return _(
                "There is no game %(number)s of tournament “%(tournament)s”.", number=ordinal, tournament=tournament
            )
    words = resource(name)
    return f"There is no {words}." if words != name else ""


def explained(failure: Failure) -> str:
    """Return the message of a failure as a sentence for a page, without names and marks for programs.

    Messages of the server begin with a small letter and end without a full stop.
    """
    if failure.status == HTTPStatus.NOT_FOUND and (sentence := _absent(failure.subject)):
        return sentence
    words = resource(failure.subject)
    message = failure.message.replace(failure.subject, words) if failure.subject else failure.message
    sentence = message.replace("`", "")
    return sentence if sentence.endswith((".", "?")) else f"{sentence[:1].upper()}{sentence[1:]}."


def advice(failure: Failure) -> str:
    """Return the hint of a failure for a page; empty if it has commands, which are for users of the command line.

    The lines after the first one are what a program wrote.
    """
    if failure.agent_hint:
        return ""
    first, newline, rest = failure.hint.partition("\n")
    return f"{first.replace('`', '')}{newline}{rest}"


def count(value: float) -> str:
    """Return e.g. `12,000`."""
    return number_text(value)


def decimal(value: float, digits: int = 1) -> str:
    """Return a number with so many digits after the point, e.g. `97.5`."""
    return number_text(value, f",.{digits}f")


def plain(value: float) -> str:
    """Return a number with as few digits as it needs, e.g. `12.25`."""
    return number_text(value, ",g")


def state_words(state: str) -> str:
    """Return a state of a tournament or of a game in words."""
    return _(_STATES[state]) if state in _STATES else state


def before_first_move(game: Mapping[str, Any]) -> str:
    """Return the words for a live game without moves; `words.js` has the same for scripts."""
    return _("about to begin") if game["state"] == "running" else _("waiting")


def place(row: Mapping[str, Any], position: int) -> str:
    """Return the place of a row of standings (see `displayed_place`); `–` before its first result."""
    number = displayed_place(ranked_entry(row), position)
    return "–" if number is None else number_text(number)


def ranked_entry(row: Mapping[str, Any]) -> RankedEntry:
    """Return a row of standings as an entry with its rank."""
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
    return f"{number_text(whole) if whole else ''}½" if half else number_text(whole)


def points_in_words(value: float) -> str:
    """Return `3 points` for 3, and `2½ points` for 2.5."""
    if value % 1:
        return pgettext("a fraction", "%(points)s points", points=points(value))
    return ngettext("%(points)s point", "%(points)s points", int(value), points=points(value))


def leading(rows: Iterable[tournaments_pb2.Standing]) -> list[str]:
    """Return the labels of the bots that lead: those that have the first rank and a result."""
    first = (row for row in rows if row.rank == 1)
    return [row.label for row in first if row.wins + row.draws + row.losses or row.points]


def leaders(rows: Sequence[tournaments_pb2.Standing], most: int) -> str:
    """Return which bots lead, only their number if they are more than `most`; empty before the first result."""
    labels = leading(rows)
    if not labels:
        return ""
    if len(labels) <= most:
        return lead(labels)
    return ngettext("%(bots)s bot leads", "%(bots)s bots lead", len(labels), bots=number_text(len(labels)))


def score_or_leaders(rows: Sequence[tournaments_pb2.Standing]) -> str:
    """Return the score of two bots, e.g. `ann 3–1 bob`; else which bots lead, and their points.

    The text is empty before the first result.
    """
    leading_bots = leaders(rows, 2)
    if not leading_bots:
        return ""
    best, *others = rows
    if len(others) == 1:
        return f"{best.label} {points(best.points)}\N{EN DASH}{points(others[0].points)} {others[0].label}"
    return _("%(leader)s with %(points)s", leader=leading_bots, points=points_in_words(best.points))


def game(variant: str) -> str:
    """Return a variant in plain words: `Connect Four`, `30 × 30, 5 in a row`, `Gomoku, exactly five in a row`."""
    name, _plus, opening = variant.partition("+")
    shape = re.fullmatch(r"mnk:(\d+),(\d+),(\d+)", name)
    base, *rules = name.split(":")
    if shape:
        columns, rows, length = shape.groups()
        words = [_("%(columns)s × %(rows)s, %(length)s in a row", columns=columns, rows=rows, length=length)]
    else:
        words = [_(_TITLES[base]) if base in _TITLES else base]
        words += (_(_RULES[rule]) if rule in _RULES else rule for rule in rules)
    return ", ".join([*words, _("%(rule)s opening", rule=opening)] if opening else words)


def loser(game: Mapping[str, Any]) -> str:
    """Return the name of the player that lost the game. If both withdraw, the game is drawn by a fault of each."""
    losers = {"1-0": game["second"], "0-1": game["first"], "1/2-1/2": _("each player")}
    return str(losers.get(game["result"], _("the loser")))


def cut(name: str) -> Markup:
    """Return a name that keeps its end if it is too long for its place, because versions differ at their ends."""
    if len(name) <= 2 * _KEPT_END:
        return Markup("{}").format(name)
    parts = Markup('<span class="cut"><span>{}</span><span>{}</span></span>')
    return parts.format(name[:-_KEPT_END], name[-_KEPT_END:])


def row_name(name: str) -> Markup:
    """Return a name for a row of a table; the middle of a long name is hidden until its link has the focus."""
    if len(name) <= _MOST_IN_ROW:
        return Markup("{}").format(name)
    start = _MOST_IN_ROW - _KEPT_END - 1
    parts = Markup('{}<span class="middle">{}</span>{}')
    return parts.format(name[:start], name[start:-_KEPT_END], name[-_KEPT_END:])


def or_words(names: Iterable[str]) -> str:
    """Return `a, b or c`."""
    *others, last = names
    return _("%(names)s or %(last)s", names=", ".join(others), last=last) if others else last


def and_words(names: Sequence[str]) -> str:
    """Return `a, b and c`; the first names of more than four, and the number of the others."""
    shown = list(names[:4])
    if len(names) > len(shown):
        return ngettext(
            "%(names)s and %(num)s other",
            "%(names)s and %(num)s others",
            len(names) - len(shown),
            names=", ".join(shown),
        )
    last = shown.pop()
    return _("%(names)s and %(last)s", names=", ".join(shown), last=last) if shown else last


def _unbroken(time: str) -> str:
    """Return a time whose numbers and units stay on one line."""
    return time.replace(" ", "\N{NO-BREAK SPACE}")


def until(stamp: str) -> str:
    """Return the time until then, e.g. `2 d 3 h`, `3 h 12 min`, `4 min`; empty if it is over."""
    minutes = max(0, math.ceil((datetime.fromisoformat(stamp) - datetime.now(UTC)).total_seconds() / 60))
    return duration(60 * minutes) if minutes else ""


def duration(seconds: float) -> str:
    """Return e.g. `3 d 4 h`, `2 h 5 min`, `12 min` or `40 s`."""
    minutes = int(seconds) // 60
    days, hours = minutes // 1440, minutes // 60
    if days:
        return _unbroken(_("%(days)s d %(hours)s h", days=days, hours=hours % 24))
    if hours:
        return _unbroken(_("%(hours)s h %(minutes)s min", hours=hours, minutes=minutes % 60))
    if minutes:
        return _unbroken(_("%(minutes)s min", minutes=minutes))
    return _unbroken(_("%(seconds)s s", seconds=int(seconds)))


def rough_time(minutes: int) -> str:
    """Return e.g. `45 min` or `2 h` for a number of minutes that is rounded."""
    time = _("%(hours)s h", hours=minutes // 60) if minutes >= 60 else _("%(minutes)s min", minutes=minutes)
    return _unbroken(time)


def thinking_time(micros: float) -> str:
    """Return e.g. `340 µs`, `12 ms` or `1.5 s`."""
    if micros < 1000:
        return _unbroken(f"{micros:.0f} µs")
    if micros < 1_000_000:
        return _unbroken(f"{number_text(micros / 1000, '.3g')} ms")
    return _unbroken(_("%(seconds)s s", seconds=number_text(micros / 1_000_000, ",.3g")))


def month(name: str) -> str:
    """Return `March 2026` for `2026-03`."""
    return format_skeleton("yMMMM", date.fromisoformat(f"{name}-01"), locale=active_language().code)


def ending(termination: str | None) -> str:
    """Return `board full` for `board_full`, and `on time` for `timeout`; `words.js` has the same for live games."""
    return _(_ENDINGS[termination]) if termination in _ENDINGS else in_words(termination or "")


def how_ended(game: Mapping[str, Any]) -> str:
    """Return how a game ended: `five in a row` by the longest line, `walkover` if nobody moved, else its ending."""
    won = game.get("winning_cells")
    if game["result"] == "*":
        return _("void")
    if game["termination"] == "adjudicated" and not game["moves"]:
        return _("walkover")
    if game.get("fault") == CONCEDED_FAULT:
        return _("stopped by the organiser")
    if game["termination"] == "line" and won:
        board = geometry(game["variant"])
        length = longest_line(board, won, game["moves"][-1]) if board else len(won)
        return _(_IN_A_ROW[length]) if length in _IN_A_ROW else _("%(length)s in a row", length=length)
    return _("failed") if _has_failed(game) else ending(game["termination"])


def reason(game: Mapping[str, Any]) -> str:
    """Return why a game ended, for a sentence about its result; `words.js` has the same for scripts.

    What the loser did has its name, because the sentence begins with the winner's. Other games are as in `how_ended`.
    """
    if _has_failed(game):
        return _("%(loser)s's program failed", loser=loser(game))
    deed = _DEEDS.get(game["termination"])
    return _(deed, loser=loser(game)) if deed and game["result"] != "*" else how_ended(game)


def fault(game: Mapping[str, Any]) -> str:
    """Return the loser and its fault, e.g. `mybot's program failed. ValueError: no move`."""
    words = str(game["fault"])
    return f"{reason(game)}. {words.removeprefix('resigned: ')}" if _has_failed(game) else f"{loser(game)} {words}"


def _has_failed(game: Mapping[str, Any]) -> bool:
    """Return whether the loser resigned with a reason: an exception of its program."""
    return game["termination"] == "resigned" and bool(game.get("fault"))


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
    """Return a tournament's title; `Guest – minimax` for a game in the browser, whose players have numbered names.

    The title of a challenge names its players, with an en dash between them.
    """
    players = _guest_and_opponent(tournament)
    if players is not None:
        opponent = _("Second guest") if players[1] == "second-guest" else players[1] or players[2]
        return f"{_('Guest')} \N{EN DASH} {opponent}"
    title: str = tournament["title"] or short(tournament["name"])
    return title.replace(" - ", " \N{EN DASH} ") if tournament["challenge"] else title


def _guest_and_opponent(tournament: dict[str, Any]) -> re.Match[str] | None:
    """Return the parts of the title of a game in the browser; None for another tournament."""
    owner = re.escape(tournament["owner"])
    return re.fullmatch(rf"{owner}-guest-\d+ - (?:{owner}-(.+)-\d+|(.+))", tournament["title"])


def played_in(game: Mapping[str, Any]) -> str:
    """Return the title of a game's tournament, else its address; `Match` if the title only names the players."""
    players = game["first"], game["second"]
    if game["tournament_title"] in (" - ".join(players), " - ".join(reversed(players))):
        return _("Match")
    return str(game["tournament_title"]) or short(game["name"])


def player(label: str, tournament: dict[str, Any]) -> str:
    """Return an entry of a tournament as its title names it: `Guest` or `Second guest` for visitors of the website."""
    owner = re.escape(tournament["owner"])
    entry = re.fullmatch(rf"{owner}-(.+)-\d+", label) if _guest_and_opponent(tournament) else None
    if entry is None:
        return label
    return {"guest": _("Guest"), "second-guest": _("Second guest")}.get(entry[1], entry[1])


def score(document: dict[str, Any]) -> Score:
    """Return the score in a document."""
    return Score(document["wins"], document["draws"], document["losses"])


def time_control(time: dict[str, Any] | None) -> str:
    """Return e.g. `1 min + 0.5 s a move`, `1 s a move` or `no clocks`."""
    if not time or not any(time.values()):
        return _("no clocks")
    base = _clock_time(time["bank_us"]) if time["bank_us"] else ""
    if time["increment_us"]:
        base = _("%(base)s + %(increment)s a move", base=base, increment=_clock_time(time["increment_us"]))
    if not time["move_us"]:
        return base
    move = _("%(time)s a move", time=_clock_time(time["move_us"]))
    return _("%(base)s, at most %(move)s", base=base, move=move) if base else move


def _clock_time(micros: int) -> str:
    minutes, rest = divmod(micros, 60_000_000)
    if minutes and not rest:
        return _unbroken(_("%(minutes)s min", minutes=minutes))
    return _unbroken(_("%(seconds)s s", seconds=number_text(micros / 1e6, "g")))


def tie_break(word: str) -> str:
    """Return `head-to-head score` for `head_to_head`."""
    return _(TieBreak[word.upper()].value)


def withdrawal_reason(row: Mapping[str, Any]) -> str:
    """Return why the server withdrew an entry; empty if its owner or the organiser did."""
    reason: str = row["withdraw_reason"]
    return "" if reason == ON_REQUEST else reason


def ties(rows: list[dict[str, Any]]) -> list[str]:
    """Return a sentence for each group of tied entries: the criterion that decided their order."""
    return tie_notes(map(ranked_entry, rows))


_FUNCTIONS = (
    place,
    ranked_entry,
    withdrawal_reason,
    ties,
    short,
    bot,
    number,
    count,
    points,
    points_in_words,
    leaders,
    score_or_leaders,
    game,
    cut,
    row_name,
    and_words,
    decimal,
    explained,
    advice,
    plain,
    state_words,
    before_first_move,
    thinking_time,
    duration,
    rough_time,
    until,
    month,
    level,
    ending,
    how_ended,
    reason,
    fault,
    clock,
    titled,
    played_in,
    player,
    when,
    time_control,
)
FILTERS: dict[str, Callable[..., Any]] = {
    "schedule": format_named,
    "format_of": format_of,
    "base_variant": base_name,
    **{function.__name__: function for function in _FUNCTIONS},
}
