"""`noughts game`: the record of games."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from noughts_proto.v1 import games_pb2 as pb
from noughts_referee.rules import Result, Termination, in_words
from noughts_server.cli import completion, options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.drawing.boards import cells_text, print_board
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.times import exact
from noughts_server.cli.typed_names import read_numbered_game, read_tournament
from noughts_server.client.client import Client
from noughts_server.convert.times import time_control
from noughts_server.records.recorded_game import comments_by_ply, margins_of_moves, score_column

_LAST_MOVES = 4


class ResultChoice(StrEnum):
    FIRST = "1-0"
    HALF = "1/2-1/2"
    SECOND = "0-1"
    VOID = "*"
    WIN = "win"
    DRAW = "draw"
    LOSS = "loss"
    WON = "won"
    DRAWN = "drawn"
    LOST = "lost"


_SAME = {
    ResultChoice.WON: ResultChoice.WIN,
    ResultChoice.DRAWN: ResultChoice.DRAW,
    ResultChoice.LOST: ResultChoice.LOSS,
}
"""The words of `noughts records list` for the same results."""


@dataclass(frozen=True, slots=True)
class GameFilter:
    result: Annotated[
        ResultChoice | None, Option("--result", help="Only games with this result, from the bot's point of view")
    ] = None
    termination: Annotated[
        str, Option("--termination", metavar="HOW", help="Only games that ended this way, e.g. line or timeout")
    ] = ""
    fault: Annotated[bool, Option("--fault", help="Only games that a bot lost through its own fault")] = False

    @property
    def chosen(self) -> bool:
        """Whether the filter excludes any games."""
        return bool(self.result or self.termination or self.fault)

    def apply(self, request: pb.ListGamesRequest) -> None:
        """Write the filter into the request. Raises UsageProblem for an unknown termination."""
        request.faults_only = self.fault
        wanted = _SAME.get(self.result, self.result) if self.result is not None else None
        if wanted in (ResultChoice.WIN, ResultChoice.LOSS):
            request.won = wanted is ResultChoice.WIN
        elif wanted is not None:
            text = ResultChoice.HALF if wanted is ResultChoice.DRAW else wanted
            (found,) = (int(result) for result in Result if str(result) == text)
            request.result = found  # type: ignore[assignment]  # equal values
        if self.termination:
            known = {str(each): int(each) for each in Termination}
            if self.termination not in known:
                raise UsageProblem(f"--termination {self.termination!r}: expected one of {', '.join(known)}")
            request.termination = known[self.termination]  # type: ignore[assignment]  # equal values


@command(
    example="""
$ noughts game list autumn --result draw --limit 1
...
#  first  second  result   termination  plies  last moves
...
"""
)
def list_games(
    tournament: Annotated[
        str, Argument(metavar="TOURNAMENT", autocompletion=completion.tournaments, help="Tournament, e.g. `spring`")
    ],
    chosen: GameFilter,
    bot: Annotated[
        str, Option("--bot", metavar="BOT", help="Only games of this entry: its label, or `bots/NAME`")
    ] = "",
    limit: options.LimitOption = None,
    at: AtServer = AtServer(),
) -> None:
    """List the games of a tournament in numerical order."""
    request = pb.ListGamesRequest(parent=read_tournament(tournament), entry=bot, with_comments=output.is_json())
    chosen.apply(request)
    if request.HasField("won") and not bot:
        raise UsageProblem(f"--result {chosen.result}: got no bot, expected --bot BOT, the bot with this result")
    with at.connected() as client:
        found = games_of(client, request, limit)
        columns = (">#", "first", "second", "result", "termination", ">plies", "last moves")
        empty = f"No {'such ' * (chosen.chosen or bool(bot))}games in {request.parent} yet."
        output.show_each(map(document, found), lambda: printing.print_rows(columns, map(_row, found), empty))


def games_of(client: Client, request: pb.ListGamesRequest, limit: int | None) -> Iterator[pb.Game]:
    """Yield the games that the server lists, up to `--limit`."""
    listed = partial(client.each, client.games.ListGames, request, lambda page: page.games)
    return options.limited(listed, limit)


def _row(row: pb.Game) -> tuple[object, ...]:
    last = cells_text(row.variant, row.moves[-_LAST_MOVES:])
    number, ended = row.name.rpartition("/")[2], (result_text(row), termination_text(row))
    return number, row.first, row.second, *ended, len(row.moves), last


@command(
    example="""
$ noughts game show autumn/7
tournaments/autumn/games/7: mybot (X) - rival (O)
1/2-1/2, board full; tictactoe, time none, seed ...
 3 X O X
 2 O O X
 1 X X O
...
"""
)
def show(
    name: Annotated[
        str,
        Argument(metavar="NAME", help="Game: `spring/7` or `tournaments/spring/games/7`, or its tournament before N"),
    ],
    number: Annotated[int | None, Argument(metavar="N", help="Number of the game in the tournament")] = None,
    at: AtServer = AtServer(),
) -> None:
    """Show one game: its moves, its last position, and the cause of a bot's fault.

    A live game with a long time control shows its moves so far (termination `going_on`).

    Only a bot's owner, the organiser and admins can see its output, so the command needs a token to show it.
    """
    if Path(name).is_file():
        fix = f"Show a game of a file: noughts records show {shlex.quote(name)} {number or 1}"
        raise UsageProblem(f"NAME: got {name!r}, a file, expected a game on a server, e.g. `spring/7`", fix)
    wanted = read_numbered_game(name, number)
    with at.connected() as client:
        answer = client.call(client.games.GetGame, pb.GetGameRequest(name=wanted))
    sides = {1: "first", 2: "second"}
    notes = [{"side": sides.get(note.side, str(note.side)), "text": note.text} for note in answer.notes]
    shown = {**document(answer.game), **({"notes": notes} if notes else {})}
    output.show(shown, lambda: _print(answer.game, notes))


def _print(shown: pb.Game, notes: list[dict[str, str]]) -> None:
    console = printing.stdout()
    printing.heading(console, f"{shown.name}: {shown.first} (X) - {shown.second} (O)")
    ended = f"{result_text(shown)}, {in_words(termination_text(shown))}"
    console.print(f"{ended}; {shown.variant}, {_times(shown)}, seed {shown.seed}")
    if fault := fault_document(shown):
        what = f"{fault['bot']} at ply {fault['ply']}: it {fault['reason']}"
        console.print(printing.printable(what), soft_wrap=True, markup=False)
    print_board(console, shown.variant, shown.moves, shown.winning_cells)
    if shown.HasField("agreement"):
        agreed = shown.agreement
        console.print(f"opening: {agreed.rule}, {agreed.stones} stones agreed on, begun by {agreed.opener}")
    if shown.opening_plies:
        console.print(f"opening: {cells_text(shown.variant, shown.moves[: shown.opening_plies])}", soft_wrap=True)
    console.print(f"moves: {cells_text(shown.variant, shown.moves)}", soft_wrap=True)
    if shown.HasField("first_allowance"):
        told = [f"{each.network_us / 1000:g} ms and {each.margin_us / 1000:g} ms" for each in _allowances(shown)]
        of_whom = told[0] if told[0] == told[1] else f"{told[0]} (first), {told[1]} (second)"
        console.print(f"network and margin of each move, beyond its clock: {of_whom}", soft_wrap=True)
    if shown.winning_cells:
        console.print(f"winning cells: {cells_text(shown.variant, shown.winning_cells)}", soft_wrap=True)
    for note in notes:
        label = shown.first if note["side"] == "first" else shown.second
        console.print(f"\n{label}: {printing.printable(note['text'])}", soft_wrap=True, markup=False)


def _allowances(row: pb.Game) -> tuple[pb.Allowance, pb.Allowance]:
    return row.first_allowance, row.second_allowance


def document(row: pb.Game) -> dict[str, Any]:
    allowed = [printing.picked(each, "network_us", "margin_us") for each in _allowances(row)]
    return {
        "game": row.name,
        **printing.picked(row, "variant", "first", "second"),
        **printing.seed_document(row.seed),
        "moves": list(row.moves),
        "result": result_text(row),
        "termination": termination_text(row),
        "winning_cells": list(row.winning_cells),
        "times_ms": [microseconds / 1000 for microseconds in row.times_us],
        **(_margins(row) if row.HasField("first_allowance") else {}),
        **score_column(row.scores, len(row.moves)),
        **comments_by_ply(row.comments),
        "end_time": exact(row, "end_time"),
        **printing.picked(row, "rating_seq", "first_bot", "second_bot"),
        "first_time": str(time_control(row.first_time)),
        "second_time": str(time_control(row.second_time)),
        **({"allowances": allowed} if row.HasField("first_allowance") else {}),
        **(
            {"opening": printing.picked(row.agreement, "rule", "opener", "stones")} if row.HasField("agreement") else {}
        ),
        **({"opening": list(row.moves[: row.opening_plies])} if row.opening_plies else {}),
        **({"fault": fault} if (fault := fault_document(row)) else {}),
        **({"round": row.round} if row.round else {}),
    }


def _margins(row: pb.Game) -> dict[str, Any]:
    limits = time_control(row.first_time), time_control(row.second_time)
    margins_us = [each.margin_us for each in _allowances(row)]
    return margins_of_moves(margins_us, limits, row.times_us[: len(row.moves)], row.opening_plies)


def fault_document(row: pb.Game) -> dict[str, Any] | None:
    """Return which bot lost the game through its own fault, when, and why; None if there was no known fault."""
    loser = Result(row.result).loser if row.fault else None
    if loser is None:
        return None
    bot, side = ((row.first, "first"), (row.second, "second"))[loser]
    return {"bot": bot, "side": side, "ply": len(row.moves), "reason": row.fault}


def _times(shown: pb.Game) -> str:
    """Return `time 1/move`; `time 1/move (X) and 5/move (O)` if the sides differ."""
    first, second = str(time_control(shown.first_time)), str(time_control(shown.second_time))
    return f"time {first}" if first == second else f"time {first} (X) and {second} (O)"


def result_text(row: pb.Game) -> str:
    """Return `1-0`, `1/2-1/2`, `0-1` or `*`, which also stands for a live game."""
    return str(Result(row.result or Result.VOID))


def termination_text(row: pb.Game) -> str:
    """Return the termination, e.g. `board_full`; `going_on` for a live game."""
    return str(Termination(row.termination)) if row.termination else "going_on"
