"""The sources of games for tables and reports: a file of games, a database, or a server."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Annotated, NamedTuple, TypeVar

from typer import Argument, Option

from noughts_proto.v1 import games_pb2
from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.cli import completion, printing
from noughts_server.cli.database import in_database
from noughts_server.cli.drawing.tournament import about_of
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.options.game import read_variant
from noughts_server.cli.options.names import read_tournament
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.times import exact
from noughts_server.client.client import Client
from noughts_server.core.resource_names import short
from noughts_server.records.formats import DIALECT, Dialect, read_games
from noughts_server.records.json_lines import json_document, json_line
from noughts_server.records.recorded_game import PlacedGame, RecordError
from noughts_server.records.replay import archive_record, stored_record
from noughts_server.records.server_games import recorded_game
from noughts_server.tables.about import About
from noughts_server.tables.recorded_game import RecordedGame, occasion
from noughts_server.tables.tally import Tally

if TYPE_CHECKING:
    from noughts_server.store.engine.database import Connection

Result = TypeVar("Result")
Item = TypeVar("Item")

_SQLITE = b"SQLite format 3\0"
_EXPECTED = (
    "a tournament on a server, e.g. `spring`, a file of games (.jsonl, .sgf, .psq, .parquet, .pgn, .csv), "
    "or an SQLite database"
)


@dataclass(frozen=True, slots=True)
class FileDialect:
    """Facts that files of other programs omit. Every command that reads files of games has these options."""

    encoding: Annotated[
        str, Option("--encoding", metavar="NAME", help="Encoding of text files, e.g. gb18030. Default: BOM, CA, UTF-8")
    ] = ""
    assume_variant: Annotated[
        str,
        Option(
            "--assume-variant",
            metavar="V",
            help="Variant of SGF and psq games that name no rule. Default: gomoku",
            autocompletion=completion.variants,
        ),
    ] = ""

    @property
    def dialect(self) -> Dialect:
        """Return the options as readers take them. Raises UsageProblem."""
        if self.assume_variant:
            read_variant(self.assume_variant, called="--assume-variant")
        return Dialect(encoding=self.encoding, variant=self.assume_variant)


class TournamentGames(NamedTuple):
    """The games of a tournament, and the facts about it that no game has."""

    title: str
    games: Iterable[RecordedGame]
    about: About

    def tally(self) -> Tally:
        return Tally(self.games, self.about)


@dataclass(frozen=True, slots=True, kw_only=True)
class GameSource(ServerOptions):
    """The source of a tournament's games: parameters of the commands for tables and reports."""

    source: Annotated[
        str, Argument(metavar="NAME|FILE", help="Tournament on a server, file of games, or SQLite database")
    ]
    tournament: Annotated[
        str, Option("--tournament", metavar="ID", help="Tournament in the database. Default: the newest")
    ] = ""

    def read(self, make: Callable[[TournamentGames], Result], dialect: Dialect = DIALECT) -> Result:
        """Return the result of `make`, which gets the games and can read them one at a time.

        `dialect` applies to files. Raises UsageProblem for an unknown source, Problem for one without games.
        """
        path = Path(self.source)
        if path.is_dir() and path.suffix != ".psq":
            raise UsageProblem(f"{self.source}: got a folder, expected {_EXPECTED}")
        if path.exists():
            if path.is_file() and _starts_with(path, _SQLITE):
                return self._read_database(path, make)
            return self._read_file(path, make, dialect)
        if "." in self.source or "/" in self.source.removeprefix("tournaments/"):
            raise UsageProblem(f"{self.source}: there is no such file; expected {_EXPECTED}")
        return self._read_server(make)

    def _read_file(self, path: Path, make: Callable[[TournamentGames], Result], dialect: Dialect) -> Result:
        games = map(game_record, games_in(self.source, dialect))
        empty = Problem(f"{self.source}: got no games, expected at least one", "Name a file with games.")
        return make(TournamentGames(path.stem, _require_games(games, empty), About()))

    def _read_database(self, path: Path, make: Callable[[TournamentGames], Result]) -> Result:
        from noughts_server.store.engine.database import Connection
        from noughts_server.store.engine.sqlite import url_of
        from noughts_server.store.games.exports import about_stored, export
        from noughts_server.store.games.standings import crosstable
        from noughts_server.store.tournaments.tournaments import get_tournament, list_tournaments

        def read(connection: Connection) -> Result:
            if self.tournament:
                stored = get_tournament(connection, short(self.tournament))
            else:
                page = list_tournaments(connection, size=2)
                if not page.items:
                    raise Problem(f"{path}: there is no tournament in this database")
                stored = page.items[0]
                if len(page.items) > 1:
                    newest = stored.slug
                    printing.note(f"{path} holds several tournaments; this is the newest, {newest} (see --tournament).")
            title = stored.settings.title or stored.slug
            games = _require_games(
                (game_record(stored_record(game)) for game in export(connection, stored.id)), _unplayed(stored.name)
            )
            return make(TournamentGames(title, games, about_stored(stored, crosstable(connection, stored, top=1))))

        return in_database(url_of(path), lambda store: store.read(read), reading=True)

    def _read_server(self, make: Callable[[TournamentGames], Result]) -> Result:
        name = read_tournament(self.source)
        with self.connected() as client:
            tournament = client.call(client.tournaments.GetTournament, pb.GetTournamentRequest(name=name)).tournament
            table = client.call(client.tournaments.GetCrosstable, pb.GetCrosstableRequest(name=name))
            games = _require_games(
                (game_record(record_of(game)) for game in _games_of_server(client, name)), _unplayed(name)
            )
            return make(TournamentGames(tournament.title or short(tournament.name), games, about_of(tournament, table)))


@dataclass(frozen=True, slots=True)
class TournamentPlace(ServerOptions):
    """The place of `tournaments/NAME`: parameters of commands that read a file of games or a tournament."""

    database: Annotated[
        str | None,
        Option("--db", metavar="URL", help="Database with the tournament: file or SQLAlchemy URL. Default: the server"),
    ] = None

    @contextmanager
    def file(self, source: str) -> Iterator[str]:
        """Yield the file of games that `source` names; for `tournaments/NAME`, a temporary one of JSON lines."""
        if not (Path(source).exists() or Path(source).suffix or "/" in source or source == "-"):
            raise UsageProblem(f"{source}: there is no such file", f"Write a tournament as tournaments/{source}.")
        if Path(source).exists() or not source.startswith("tournaments/"):
            yield source
            return
        with TemporaryDirectory(prefix="noughts-games-") as folder:
            file = Path(folder, "games.jsonl")
            with file.open("w", encoding="ascii") as out:
                self._write(read_tournament(source), out)
            yield str(file)

    def _write(self, name: str, out: IO[str]) -> None:
        if self.database is not None:
            in_database(
                self.database,
                lambda store: store.read(lambda connection: _write_stored(connection, name, out)),
                reading=True,
            )
            return
        with self.connected() as client:
            tournament = client.call(client.tournaments.GetTournament, pb.GetTournamentRequest(name=name)).tournament
            table = client.call(client.tournaments.GetCrosstable, pb.GetCrosstableRequest(name=name, top=1))
            for number, (game, is_last) in enumerate(with_last(_games_of_server(client, name)), start=1):
                line = json_document(record_of(game, tournament.title or short(name)))
                if is_last:
                    finished = tournament.state == pb.TOURNAMENT_STATE_FINISHED
                    line["tournament"] = about_of(tournament, table).file_facts(number, finished=finished)
                out.write(printing.compact_json(line) + "\n")


def _write_stored(connection: "Connection", name: str, out: IO[str]) -> None:
    """Write the games of a tournament in a database as lines."""
    from noughts_server.store.games.exports import export_file
    from noughts_server.store.tournaments.tournaments import get_tournament

    tournament = get_tournament(connection, short(name))
    out.writelines(json_line(archive_record(game, tournament)) for game in export_file(connection, tournament))


def games_in(file: str, dialect: Dialect = DIALECT) -> Iterator[RecordedGame]:
    """Yield the games in a file. Raises Problem at the first game that cannot be read."""
    return (valid_game(file, placed) for placed in read_games(file, dialect=dialect))


def valid_game(file: str, placed: PlacedGame) -> RecordedGame:
    """Return the game. Raises Problem with its place if it could not be read."""
    if isinstance(placed.game, RecordError):
        hint = placed.game.fix or f"noughts records check {file} lists all errors."
        raise Problem(f"{place_in(file, placed)}: {placed.game}", hint)
    return placed.game


def place_in(file: str, placed: PlacedGame) -> str:
    """Return the place of a game in a file, for errors."""
    return f"{placed.file or file}, line {placed.line:,}"


def game_record(game: RecordedGame) -> RecordedGame:
    """Return the game, with a text such as `unknown` in place of each unknown value."""
    return replace(
        game,
        variant=game.variant or "unknown",
        first=game.first or "unknown X",
        second=game.second or "unknown O",
        termination=game.termination or "unknown",
    )


def _starts_with(path: Path, magic: bytes) -> bool:
    with open(path, "rb") as file:
        return file.read(len(magic)) == magic


def _unplayed(name: str) -> Problem:
    """Return the error for a tournament without a finished game."""
    hint = f"Wait for the first one, or start it: noughts tournament start {short(name)}"
    return Problem(f"{name}: none of its games have been played yet", hint)


def _require_games(games: Iterable[RecordedGame], error: Problem) -> Iterator[RecordedGame]:
    """Yield the games. Raises `error` if there are none."""
    is_empty = True
    for game in games:
        is_empty = False
        yield game
    if is_empty:
        raise error


def _games_of_server(client: Client, name: str) -> Iterator[games_pb2.Game]:
    request = games_pb2.ListGamesRequest(parent=name, with_comments=True)
    return client.list_items(client.games.ListGames, request, lambda page: page.games)


def with_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Yield each item, and whether it is the last. An item waits until the next one is read."""
    remaining = iter(items)
    for first in remaining:
        item = first
        for following in remaining:
            yield item, False
            item = following
        yield item, True


def record_of(game: games_pb2.Game, event: str = "") -> RecordedGame:
    """Return the record of a game with its name and the time of its end; `event` is the title of its tournament."""
    record = recorded_game(game)
    end_time = exact(game.end_time)
    facts = {"game": game.name, "end_time": end_time, **occasion(event, end_time or "")}
    return replace(record, more={**record.more, **facts})
