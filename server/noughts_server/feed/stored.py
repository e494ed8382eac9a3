"""The data that channels read from the store."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from noughts_proto.v1 import feed_pb2 as pb
from noughts_referee.clock import clocks_after
from noughts_referee.rules import VOID, parse_variant
from noughts_referee.work_units import FinishedGame, unpack_moves, unpack_times
from noughts_server.convert.matches import candidates_messages, match_statistics_message
from noughts_server.convert.tournaments import entry_labels, standing_message
from noughts_server.core.errors import NotFound
from noughts_server.core.resource_names import game_name
from noughts_server.feed.observer import ScheduledGameKey, add_scores, set_clocks, set_time_factor, waiting_game
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.schema import Kind
from noughts_server.store.games.games import StoredGame, get_game
from noughts_server.store.games.standings import standings
from noughts_server.store.tournaments.tournaments import (
    Tournament,
    conditions,
    get_tournament,
    get_tournament_by_id,
    running_tournaments,
    schedule_of,
)
from noughts_server.tables.standings import Standing

_MOST_FEATURED = 16
"""Tournaments on the channel of running tournaments: more than a page shows."""


class ReadGame(NamedTuple):
    """A scheduled game with its state in the store."""

    slot: ScheduledGameKey
    message: pb.WatchedGame


def read_game(connection: Connection, slug: str, ordinal: int) -> ReadGame:
    """Return a slot of a started tournament with its game, if stored. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    name = game_name(tournament.name, ordinal)
    if not 0 < ordinal <= tournament.games_total:
        hint = f"Choose a number from 1 to {tournament.games_total:,}." if tournament.games_total else ""
        raise NotFound(name, hint=hint or "Start the tournament: it has no games yet.")
    playing = conditions(connection, tournament.id)
    slot = schedule_of(connection, tournament).slot(ordinal)
    game: StoredGame | None = None
    with suppress(NotFound):
        game = get_game(connection, slug, ordinal)
    if game is not None and game.first != playing.labels[slot.first]:
        # The bots swapped sides by agreement.
        slot = slot._replace(first=slot.second, second=slot.first)
    message = waiting_game(playing, slot)
    limits = playing.limits[slot.first], playing.limits[slot.second]
    if game is not None and game.time_factor is not None:
        first_limit, second_limit = (limit and limit.scaled(game.time_factor) for limit in limits)
        limits = first_limit, second_limit
        set_time_factor(message, game.time_factor, limits)
    if game is None:
        first_us, second_us = clocks_after(limits, ())
        set_clocks(message, first_us, second_us)
        if tournament.ended:
            message.state = pb.GAME_STATE_ENDED
            message.result, message.termination = map(int, VOID)  # type: ignore[assignment]
        return ReadGame(ScheduledGameKey(tournament.id, ordinal), message)
    message.moves.extend(game.moves)
    message.times_us.extend(game.times_us)
    add_scores(message, game.scores)
    if game.clocks_us is not None:
        first_us, second_us = game.clocks_us
        first_limit, second_limit = limits
        set_clocks(message, first_us if first_limit else None, second_us if second_limit else None)
    else:
        message.state = pb.GAME_STATE_ENDED
        message.result, message.termination = int(game.result), int(game.termination)  # type: ignore[assignment]
        message.winning_cells.extend(parse_variant(tournament.settings.variant).won_with(game.moves))
        if game.agreement is None:
            # A late move has a time but was not played. After an agreement on the opening, the clocks are unknown,
            # because the times of its choices do not show whose clock ran.
            first_us, second_us = clocks_after(limits, game.times_us[: len(game.moves)], game.opening_plies)
            set_clocks(message, first_us, second_us)
    return ReadGame(ScheduledGameKey(tournament.id, ordinal), message)


def read_tournament(connection: Connection, slug: str) -> tuple[int, pb.WatchedTournament]:
    """Return the tournament's ID and its state with standings. Raises NotFound."""
    tournament = get_tournament(connection, slug)
    return tournament.id, _message(tournament, standings(connection, tournament))


def read_featured(connection: Connection, known: Iterable[int]) -> list[tuple[int, pb.WatchedTournament]]:
    """Return the newest running tournaments and those with the IDs in `known`, without challenges and standings."""
    public = [tournament for tournament in running_tournaments(connection) if tournament.kind is Kind.ORGANISED]
    running = {tournament.id: tournament for tournament in public[-_MOST_FEATURED:]}
    running |= {key: get_tournament_by_id(connection, key) for key in known if key not in running}
    return [(key, _message(tournament)) for key, tournament in running.items()]


def _message(tournament: Tournament, rows: Sequence[Standing] = ()) -> pb.WatchedTournament:
    labels = entry_labels(rows)
    return pb.WatchedTournament(
        name=tournament.name,
        title=tournament.settings.title,
        state=tournament.state.value,  # type: ignore[arg-type]  # equal values
        variant=tournament.settings.variant,
        games_total=tournament.games_total,
        games_done=tournament.games_done,
        standings=[
            pb.WatchedStanding(rank=rank, standing=standing_message(row)) for rank, row in enumerate(rows, start=1)
        ],
        match=match_statistics_message(tournament, labels),
        candidates=candidates_messages(tournament, labels),
        reason=tournament.reason,
    )


def missing_plies(known: pb.WatchedGame, game: FinishedGame) -> list[pb.WatchedPly]:
    """Return the moves of a stored game that the known game lacks.

    If the game was followed from the start, there are none.
    """
    moves = unpack_moves(game.moves, parse_variant(known.variant).cells)
    times = unpack_times(game.times)
    return [
        pb.WatchedPly(game=known.name, ply=ply, cell=moves[ply], time_us=times[ply])
        for ply in range(len(known.moves), len(moves))
    ]


def end_message(name: str, variant_name: str, game: FinishedGame) -> pb.WatchedEnd:
    variant = parse_variant(variant_name)
    return pb.WatchedEnd(
        game=name,
        result=game.result,  # type: ignore[arg-type]  # equal values
        termination=game.termination,  # type: ignore[arg-type]  # equal values
        winning_cells=variant.won_with(unpack_moves(game.moves, variant.cells)),
    )
