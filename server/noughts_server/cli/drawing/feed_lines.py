"""A feed as lines: JSON for programs, text if there is no terminal."""

from collections.abc import Iterator
from typing import Any

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import tournaments_pb2
from noughts_referee.rules import Result, Termination
from noughts_server.cli import printing
from noughts_server.cli.drawing.boards import cells_text
from noughts_server.cli.drawing.tournament import state_of
from noughts_server.cli.options.output import OutputOptions
from noughts_server.convert.times import time_control
from noughts_server.core.resource_names import short


def print_message(output: OutputOptions, message: pb.WatchResponse, view: View) -> None:
    """Print each event of a message as a JSON document or a line of text, and update the view."""
    if output.is_json:
        for event in events(message):
            printing.print_json(event)
    else:
        console = printing.stdout()
        for line in lines(message, view):
            console.print(printing.printable(line), soft_wrap=True)
        console.file.flush()
    view.take(message)


def note_lost_connection(reason: str) -> None:
    """Report a lost connection on stderr."""
    printing.note(f"connection lost, trying again: {reason}")


def events(message: pb.WatchResponse) -> Iterator[dict[str, Any]]:
    """Yield the events of a message as JSON documents."""
    if message.HasField("resync"):
        reason = pb.Resync.Reason.Name(message.resync.reason).removeprefix("REASON_").lower()
        yield {"event": "resync", "sequence": message.sequence, "reason": reason}
    elif message.HasField("snapshot"):
        yield {
            "event": "snapshot",
            "sequence": message.sequence,
            # A string, because most programs cannot read 64-bit numbers exactly.
            "epoch": f"{message.epoch:016x}",
            "tournaments": [_tournament(tournament) for tournament in message.snapshot.tournaments],
            "games": [_game(game) for game in message.snapshot.games],
        }
    else:
        for event, document in _increments(message.increments):
            yield {"event": event, "sequence": message.sequence, **document}


def lines(message: pb.WatchResponse, view: View) -> Iterator[str]:
    """Yield the events of a message in words; `view` is the state before it."""
    if message.HasField("resync"):
        yield "Some events were missed."
    if message.HasField("snapshot") and not message.snapshot.ByteSize():
        yield "Nothing is being played now."
    for game in (*message.snapshot.games, *message.increments.games):
        yield _game_line(game)
    variants = {game.name: game.variant for game in message.increments.games}
    for ply in message.increments.plies:
        earlier_game = view.games.get(ply.game)
        yield _ply_line(ply, variants.get(ply.game, earlier_game.variant if earlier_game else ""))
    for end in message.increments.ends:
        yield f"{short_game(end.game)}: {ending_text(end)}"
    for tournament in (*message.snapshot.tournaments, *message.increments.tournaments):
        yield tournament_line(tournament)
        for row in tournament.standings:
            standing = row.standing
            rating = printing.rating(standing.rating if standing.HasField("rating") else None)
            place = f"{standing.rank or row.rank}. {standing.label}, points {printing.points(standing.points)}"
            faults = (
                f", lost {printing.count(standing.faults, 'game')} through its own fault" if standing.faults else ""
            )
            yield f"{short(tournament.name)}: {place}, rating {rating}{faults}"


def tournament_line(tournament: pb.WatchedTournament) -> str:
    """Return e.g. `spring: running, 12 of 100 games, 4 in play`."""
    reason = f"; {tournament.reason}" if tournament.reason else ""
    return (
        f"{short(tournament.name)}: {state_of(tournament)}, {tournament.games_done:,} of {tournament.games_total:,}"
        f" games, {tournament.games_running:,} in play{reason}"
    )


def short_game(name: str) -> str:
    """Return e.g. `spring/7`."""
    return short(name).replace("/games/", "/")


def scores_of(game: pb.WatchedGame) -> tuple[float | None, float | None]:
    """Return the last score that each side reported; None for a side that reported none."""
    return (
        game.first_score if game.HasField("first_score") else None,
        game.second_score if game.HasField("second_score") else None,
    )


def score_text(score: float | None) -> str:
    """Return the score with at most six digits; `-` for None."""
    return "-" if score is None else f"{score:g}"


def ending_text(game: pb.WatchedGame | pb.WatchedEnd) -> str:
    """Return e.g. `1-0, line`, for a game that has ended."""
    return f"{Result(game.result)}, {Termination(game.termination).words}"


def _game_line(game: pb.WatchedGame) -> str:
    players = f"{short_game(game.name)}: {game.first} (X) - {game.second} (O), {game.variant}"
    moves = f", moves {cells_text(game.variant, game.moves)}" if game.moves else ""
    if game.state == pb.GAME_STATE_ENDED:
        return f"{players}{moves}, {ending_text(game)}"
    return f"{players}, {_game_state(game)}{moves}"


def _ply_line(ply: pb.WatchedPly, variant: str) -> str:
    times = ["-" if clock is None else f"{clock / 1e6:.1f} s" for clock in clocks_of(ply)]
    clocks = "" if times == ["-", "-"] else f", clocks {' and '.join(times)}"
    score = f", score {score_text(ply.score)}" if ply.HasField("score") else ""
    return (
        f"{short_game(ply.game)}: ply {ply.ply}, {'XO'[ply.ply & 1]} on {cells_text(variant, (ply.cell,))},"
        f" {ply.time_us / 1000:.1f} ms{clocks}{score}"
    )


def _increments(increments: pb.Increments) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in increments.gone:
        yield "gone", {"name": name}
    for game in increments.games:
        yield "game", _game(game)
    for ply in increments.plies:
        yield "ply", _ply(ply)
    for end in increments.ends:
        yield "end", {"game": end.game, **_result(end)}
    for tournament in increments.tournaments:
        yield "tournament", _tournament(tournament)


def _tournament(tournament: pb.WatchedTournament) -> dict[str, Any]:
    return {
        "tournament": tournament.name,
        "title": tournament.title,
        "state": state_of(tournament),
        "reason": tournament.reason,
        "variant": tournament.variant,
        "games": tournament.games_done,
        "games_total": tournament.games_total,
        "games_running": tournament.games_running,
        "plies": tournament.plies,
        "standings": [_standing(row.standing, row.rank) for row in tournament.standings],
    }


def _standing(standing: tournaments_pb2.Standing, place: int) -> dict[str, Any]:
    return {
        "rank": standing.rank or place,
        "name": standing.label,
        "wins": standing.wins,
        "draws": standing.draws,
        "losses": standing.losses,
        "points": standing.points,
        "rating": standing.rating if standing.HasField("rating") else None,
        "faults": standing.faults,
    }


def _game(game: pb.WatchedGame) -> dict[str, Any]:
    document: dict[str, Any] = {
        "game": game.name,
        "variant": game.variant,
        "first": game.first,
        "second": game.second,
        "time": str(time_control(game.time)),
    }
    if game.HasField("first_time"):
        document["first_time"] = str(time_control(game.first_time))
        document["second_time"] = str(time_control(game.second_time))
    if game.HasField("time_factor"):
        document["time_factor"] = game.time_factor
    first_score, second_score = scores_of(game)
    return {
        **document,
        "state": _game_state(game),
        "moves": list(game.moves),
        "times_ms": [microseconds / 1000 for microseconds in game.times_us],
        **_clocks(game),
        "first_score": first_score,
        "second_score": second_score,
        **_result(game),
    }


def _ply(ply: pb.WatchedPly) -> dict[str, Any]:
    return {
        "game": ply.game,
        "ply": ply.ply,
        "cell": ply.cell,
        "time_ms": ply.time_us / 1000,
        **_clocks(ply),
        "score": ply.score if ply.HasField("score") else None,
    }


def _game_state(game: pb.WatchedGame) -> str:
    return pb.GameState.Name(game.state).removeprefix("GAME_STATE_").lower()


def clocks_of(update: pb.WatchedGame | pb.WatchedPly) -> tuple[int | None, int | None]:
    """Return the time on the two clocks in microseconds; None for a side without a limit."""
    return (
        update.first_clock_us if update.HasField("first_clock_us") else None,
        update.second_clock_us if update.HasField("second_clock_us") else None,
    )


def _clocks(update: pb.WatchedGame | pb.WatchedPly) -> dict[str, float | None]:
    first, second = (None if clock is None else clock / 1000 for clock in clocks_of(update))
    return {"first_clock_ms": first, "second_clock_ms": second}


def _result(end: pb.WatchedGame | pb.WatchedEnd) -> dict[str, Any]:
    if not end.result:
        return {"result": None, "termination": None, "winning_cells": []}
    return {
        "result": str(Result(end.result)),
        "termination": str(Termination(end.termination)),
        "winning_cells": list(end.winning_cells),
    }
