"""Add games, rounds or entries to a tournament that has started, without changing games already played."""

from collections.abc import Sequence

from sqlalchemy import Connection

from noughts_server.competition.formats.tournament_format import FixedPairings, FormatError
from noughts_server.competition.schedule import Schedule
from noughts_server.core.errors import InvalidArgument, ResourceExhausted, WrongState
from noughts_server.store.engine.schema import Kind, TournamentState
from noughts_server.store.pairing.pairings import NewScheduledGame, append_slots, next_game_pair
from noughts_server.store.pairing.rounds import pair_next
from noughts_server.store.tournaments.tournaments import (
    MOST_GAMES,
    MOST_GAMES_PER_PAIR,
    Tournament,
    base_schedule,
    change_settings,
    change_tournament,
    count_entries,
    get_tournament_by_id,
    owned_tournament,
    require_state,
)
from noughts_server.store.validation import check_number

_HINT = "Create another tournament for more."


def extend_tournament(
    connection: Connection,
    slug: str,
    *,
    games_per_pair: int = 0,
    rounds: int = 0,
    owner_id: int | None = None,
    any_format: bool = False,
) -> Tournament:
    """Add games to each pair, or rounds to a Swiss tournament; a finished tournament is set to paused.

    With `owner_id`, the tournament must belong to this owner. With `any_format`, a match can also get more games.
    Raises NotFound, PermissionDenied, WrongState, InvalidArgument, ResourceExhausted.
    """
    tournament = owned_tournament(connection, slug, owner_id)
    kind = tournament.settings.schedule
    if games_per_pair < 0 or rounds < 0:
        raise InvalidArgument.of("games_per_pair and rounds", min(games_per_pair, rounds), "0 or more")
    if tournament.kind is Kind.CHALLENGE:
        raise WrongState(tournament.name, got="a challenge", expected="an organised tournament", hint=_HINT)
    require_state(tournament, TournamentState.RUNNING, TournamentState.PAUSED, TournamentState.FINISHED)
    if games_per_pair and not isinstance(kind, FixedPairings):
        raise InvalidArgument.of("games_per_pair", games_per_pair, f"0: results determine the pairings in a {kind}")
    if not kind.extendable and not any_format:
        raise WrongState(tournament.name, got=f"a {kind}", expected="a format that can be extended", hint=_HINT)
    if games_per_pair and isinstance(kind, FixedPairings):
        _add_games(connection, tournament, kind, games_per_pair)
    if rounds:
        _add_rounds(connection, tournament, rounds)
    return reopen(connection, tournament)


def reopen(connection: Connection, tournament: Tournament) -> Tournament:
    """Set a finished tournament to paused, so that it can be started again."""
    if tournament.state is TournamentState.FINISHED:
        return change_tournament(connection, tournament, state=TournamentState.PAUSED, paused_at=None, ended_at=None)
    return get_tournament_by_id(connection, tournament.id)


def add_late_entry(connection: Connection, tournament: Tournament, number: int) -> None:
    """Pair an entry that joined after the start and has no games yet, as the format requires."""
    kind = tournament.settings.schedule
    if not isinstance(kind, FixedPairings):
        # The next round includes the entry. A ladder that had no possible pairing can pair at once.
        if kind.endless and tournament.games_done == tournament.games_total:
            pair_next(connection, tournament.id)
        return
    if tournament.base_entries is None:
        base = {"base_entries": number, "base_games_per_pair": tournament.settings.games_per_pair}
        change_tournament(connection, tournament, **base)
    whole = kind.schedule(number + 1, tournament.settings.games_per_pair)
    new = sorted(whole.slots_of(number, whole.total + 1))
    _append(connection, get_tournament_by_id(connection, tournament.id), whole, new)


def _add_games(connection: Connection, tournament: Tournament, kind: FixedPairings, games_per_pair: int) -> None:
    settings = tournament.settings
    total = check_number("games_per_pair", settings.games_per_pair + games_per_pair, 1, MOST_GAMES_PER_PAIR)
    if tournament.base_entries is None:
        # All slots are still computed, so only their number grows.
        base = base_schedule(connection, change_settings(connection, tournament, games_per_pair=total))
        assert base is not None
        _check_total(tournament, base.total)
        change_tournament(connection, tournament, games_total=base.total)
        return
    count = count_entries(connection, tournament)
    before = kind.schedule(count, settings.games_per_pair)
    whole = kind.schedule(count, total)
    change_settings(connection, tournament, games_per_pair=total)
    _append(connection, tournament, whole, range(before.total + 1, whole.total + 1))


def _add_rounds(connection: Connection, tournament: Tournament, rounds: int) -> None:
    settings = tournament.settings
    try:
        total = settings.schedule.check_extension(count_entries(connection, tournament), settings, rounds)
    except FormatError as error:
        raise InvalidArgument.of(error.setting, error.got, error.expected) from error
    change_settings(connection, tournament, rounds=total)
    if tournament.games_done == tournament.games_total:
        pair_next(connection, tournament.id)


def _append(connection: Connection, tournament: Tournament, whole: Schedule, slots: Sequence[int]) -> None:
    """Store these slots of the schedule `whole`, which is larger than the stored one, as new pairs of games."""
    base = base_schedule(connection, tournament)
    next_pair = next_game_pair(connection, tournament.id, base)
    new_numbers: dict[int, int] = {}
    new = []
    for (_, first, second), old_number in zip(whole.slots(slots), whole.game_pairs(slots), strict=True):
        number = new_numbers.setdefault(old_number, next_pair + len(new_numbers))
        new.append(NewScheduledGame(first_entry=first, second_entry=second, game_pair=number, round=0))
    _check_total(tournament, append_slots(connection, tournament.id, tournament.games_total, new))


def _check_total(tournament: Tournament, total: int) -> None:
    if total > MOST_GAMES:
        raise ResourceExhausted(f"{tournament.name} games", got=total, limit=MOST_GAMES, hint="Add fewer.")
