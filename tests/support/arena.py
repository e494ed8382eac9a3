"""A real store with tournaments whose games were never played: their results are made up."""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from noughts_referee.clock import TimeControl
from noughts_referee.rules import Draws, Result, Termination
from noughts_referee.work_units import FinishedGame, ScheduledGame, pack_times
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.services.new_tournaments import check_tournament
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.games.results import CommitReport, commit_games
from noughts_server.store.people.bots import log_in
from noughts_server.store.people.tokens import create_owner
from noughts_server.store.ratings.rater import FoldingState
from noughts_server.store.tournaments.claims import claim_unit, unfinished_units
from noughts_server.store.tournaments.entries import join_tournament
from noughts_server.store.tournaments.tournaments import NewTournament, Tournament, create_tournament, start_tournament
from tests.support.databases import change, make_database, rows_of, url_of

NOW = 1_700_000_000_000
"""Milliseconds since 1970."""


class Arena:
    """A store in a file, and the folding state of its one recorder."""

    def __init__(self, store: Store, path: Path) -> None:
        self.store = store
        self.path = path
        self.state = FoldingState()

    async def tournament(
        self,
        slug: str = "cup",
        *,
        bots: Sequence[str] = ("ada", "bob"),
        games_per_pair: int = 2,
        rated: bool = True,
        variant: str = "tictactoe",
        time: TimeControl | None = None,
        own_times: Mapping[str, TimeControl] | None = None,
        start: bool = True,
        **others: Any,
    ) -> Tournament:
        """Create a tournament of these bots, and register unknown ones; a name given twice enters in two versions.

        `others` are fields of `TournamentSettings`.
        """
        settings = TournamentSettings(
            variant=variant,
            time=time or TimeControl(),
            own_times=own_times or {},
            games_per_pair=games_per_pair,
            seed=7,
            rated=rated,
            **others,
        )
        new = NewTournament(slug, settings)
        return await self.store.write(partial(make_tournament, new=new, bots=bots, start=start))

    async def play(self, tournament: Tournament, *units: int) -> list[FinishedGame]:
        """Claim units (by default all unfinished ones), and return made-up results of their missing games.

        Nothing is stored before `commit`.
        """
        return await self.store.write(partial(_claim_and_make_up_games, tournament=tournament, units=units))

    async def commit(self, games: Iterable[FinishedGame], *, now_ms: int = NOW) -> CommitReport:
        """Commit games as the recorder does."""
        commit = partial(commit_games, games=list(games), state=self.state, now_ms=now_ms)
        report = await self.store.write(commit)
        self.state.confirm()
        return report

    async def follow_presence(self, ladder: Tournament, absences: Mapping[int, bool]) -> CommitReport:
        """Store which entries of a ladder are absent, by number, as the recorder does, and pair the others."""
        commit = partial(commit_games, games=[], state=self.state, now_ms=NOW, absences={ladder.id: absences})
        report = await self.store.write(commit)
        self.state.confirm()
        return report

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Return rows of the file, read by another program."""
        return rows_of(self.path, statement)

    def execute(self, statement: str) -> None:
        """Change the file by another program."""
        change(self.path, statement)

    def ratings(self) -> list[tuple[Any, ...]]:
        """All stored ratings, bit for bit."""
        return self.rows("SELECT * FROM ratings ORDER BY list_id, bot_id")

    def snapshot(self) -> dict[str, list[tuple[Any, ...]]]:
        """Return the rows of all tables that must not depend on the order in which games were committed."""
        return {
            "games": self.rows("SELECT tournament_id, ordinal, result, moves FROM games ORDER BY 1, 2"),
            "pair_scores": self.rows("SELECT * FROM pair_scores ORDER BY 1, 2, 3"),
            "entry_scores": self.rows("SELECT * FROM entry_scores ORDER BY 1, 2"),
            "bot_scores": self.rows("SELECT * FROM bot_scores ORDER BY 1, 2, 3"),
            "meetings": self.rows("SELECT * FROM meetings ORDER BY 1, 2, 3"),
            "tournaments": self.rows("SELECT id, state, games_done, folded FROM tournaments ORDER BY 1"),
            "ratings": self.ratings(),
            "rating_history": self.rows("SELECT list_id, bot_id, games, rating FROM rating_history ORDER BY 1, 2, 3"),
        }


@asynccontextmanager
async def open_arena(path: Path) -> AsyncIterator[Arena]:
    """An arena on the database at `path`, which is created if it is missing."""
    make_database(path)
    store = await Store.open(url_of(path), busy_seconds=0.2)
    try:
        yield Arena(store, path)
    finally:
        await store.close()


def made_up_game(tournament: Tournament, attempt: int, slot: ScheduledGame) -> FinishedGame:
    """Return a game of this slot with random moves and result, the same each time."""
    rng = Draws(tournament.settings.seed, slot.ordinal)
    # About every ninth game is void.
    result = Result(1 + rng.below(3)) if rng.below(9) else Result.VOID
    moves = bytes(rng.below(9) for _ in range(5 + rng.below(5)))
    return FinishedGame(
        tournament=tournament.id,
        ordinal=slot.ordinal,
        attempt=attempt,
        first=slot.first,
        second=slot.second,
        result=result,
        termination=Termination.VOID if result is Result.VOID else Termination.LINE,
        moves=moves,
        times=pack_times([1000 * (ply + 1) for ply in range(len(moves))]),
    )


def make_tournament(connection: Connection, new: NewTournament, bots: Sequence[str], start: bool) -> Tournament:
    """Create a tournament of these bots, which are registered if they are new; start it if `start`."""
    owner = create_owner(connection, "alice")
    tournament = create_tournament(connection, check_tournament(new, NOW), owner_id=owner, now_ms=NOW)
    for place, name in enumerate(bots):
        version = str(bots[:place].count(name) + 1)
        log_in(connection, owner_id=owner, name=name, version=version, now_ms=NOW)
        join_tournament(connection, new.slug, bot=name, version=version, owner_id=owner)
    return start_tournament(connection, new.slug, now_ms=NOW, owner_id=owner) if start else tournament


def _claim_and_make_up_games(
    connection: Connection, tournament: Tournament, units: Sequence[int]
) -> list[FinishedGame]:
    games = []
    for number in units or unfinished_units(connection, tournament.id):
        claim = claim_unit(connection, tournament.id, number)
        games += [made_up_game(tournament, claim.attempt, slot) for slot in claim.slots]
    return games
