"""Find the run to resume among the tournaments that were played on this machine without a server."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from sqlalchemy import Connection, select, update

from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.schema import TournamentState, bot_versions, entries, owners, tournaments
from noughts_server.store.tournaments.tournaments import Tournament, get_tournament_by_id

OWNER = "local"
"""The owner of tournaments that are played without a server."""

# Settings that can change: concurrency and title. Games and rounds can be added.
_FREE = ("concurrency", "title", "games_per_pair", "rounds")


_OPTIONS = {"games_per_pair": "games"}


class NotResumed(Exception):
    """There is no run to resume, or it differs from the requested run."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run that can be resumed."""

    slug: str
    settings: TournamentSettings
    versions: Mapping[str, str]
    """The bot version of each entry, by label, in order of the entries."""
    games_done: int
    games_total: int

    def resumed(
        self, settings: TournamentSettings, versions: Mapping[str, str], *, same_seed: bool
    ) -> TournamentSettings:
        """Return the settings for resuming, which can have more games or rounds. Raises NotResumed.

        With `same_seed`, the seeds must be equal. Openings can be omitted, because their file is possibly deleted.
        """
        settings = settings if same_seed else replace(settings, seed=self.settings.seed)
        # Runs of earlier versions did not keep scores.
        settings = replace(settings, keep_scores=self.settings.keep_scores)
        if not settings.openings:
            settings = replace(settings, openings=self.settings.openings)
        for name in (field.name for field in fields(TournamentSettings)):
            got = getattr(settings, name)
            stored = getattr(self.settings, name)
            option = _OPTIONS.get(name, name.replace("_", "-"))
            if name not in _FREE and got != stored:
                if str(got) == str(stored):
                    raise NotResumed(f"got different {option} in {got}, expected those from the start, or none")
                raise NotResumed(f"got {option} {got or 'none'}, expected {stored or 'none'}, as at the start")
            if name in ("games_per_pair", "rounds") and got < stored:
                raise NotResumed(f"got {option} {got}, expected {stored} or more, as at the start")
        bots = [f"{label}={spec}" for label, spec in versions.items()]
        expected = [f"{label}={spec}" for label, spec in self.versions.items()]
        if bots[: len(expected)] != expected:
            raise NotResumed(f"got the bots {' '.join(bots)}, expected {' '.join(expected)}, as at the start")
        return settings


def killed_run(connection: Connection) -> Tournament | None:
    """Return the newest run that was killed. A run that is interrupted normally pauses its tournament."""
    running = (owners.c.name == OWNER, tournaments.c.state == TournamentState.RUNNING)
    newest = select(tournaments.c.id).join(owners).where(*running).order_by(tournaments.c.id.desc()).limit(1)
    key: int | None = connection.execute(newest).scalar()
    return None if key is None else get_tournament_by_id(connection, key)


def omit_first_games(connection: Connection, slug: str, games: int) -> None:
    """Leave out the first slots of a tournament that has not begun, as if their games were stored. Writes."""
    values = {"folded": games, "games_done": games}
    connection.execute(update(tournaments).where(tournaments.c.slug == slug).values(**values))


async def run_to_resume(
    database: str, settings: TournamentSettings, versions: Mapping[str, str], *, same_seed: bool
) -> tuple[StoredRun, TournamentSettings]:
    """Return the newest stored run that matches these settings and bots, and the settings with which it resumes.

    Raises NotResumed with the difference of the newest run, and the errors of opening a database.
    """
    store = await Store.open(database, create=False)
    try:
        runs = await store.read(_runs)
    finally:
        await store.close()
    first_error: NotResumed | None = None
    for run in runs:
        try:
            return run, run.resumed(settings, versions, same_seed=same_seed)
        except NotResumed as error:
            if first_error is None:
                first_error = error
    raise first_error or NotResumed("the database has no tournament that was played on this machine")


def _runs(connection: Connection) -> list[StoredRun]:
    """Return all runs, newest first."""
    runs = (owners.c.name == OWNER, tournaments.c.state != TournamentState.CANCELLED)
    keys = connection.scalars(select(tournaments.c.id).join(owners).where(*runs).order_by(tournaments.c.id.desc()))
    return [_run(connection, key) for key in keys.all()]


def _run(connection: Connection, key: int) -> StoredRun:
    tournament = get_tournament_by_id(connection, key)
    statement = select(entries.c.label, bot_versions.c.version).join(bot_versions)
    rows = connection.execute(statement.where(entries.c.tournament_id == key).order_by(entries.c.number))
    versions: dict[str, str] = {row.label: row.version for row in rows}
    return StoredRun(tournament.slug, tournament.settings, versions, tournament.games_done, tournament.games_total)
