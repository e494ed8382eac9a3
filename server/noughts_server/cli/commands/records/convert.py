"""The command `noughts records convert`."""

from typing import Annotated

from typer import Argument, Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.game_sources import FileDialect, TournamentPlace, place_in, valid_game
from noughts_server.cli.options.output import OutputOptions
from noughts_server.records.data_set import DataSet, Rows
from noughts_server.records.formats import WITH_TOURNAMENTS, WITHOUT_MOVES, format_of, read_games, writing_games
from noughts_server.records.recorded_game import RecordError
from noughts_server.tables.recorded_game import RecordedGame


@command(
    example="""
$ noughts records convert games.jsonl games.sgf
30 games from games.jsonl to games.sgf.
$ noughts records convert games.jsonl moves.parquet --rows moves
30 games from games.jsonl to moves.parquet.
"""
)
def convert(
    source: Annotated[
        str,
        Argument(metavar="IN", help="Games: .jsonl, .sgf, .psq, .parquet, .pgn, .csv, psq folder, `tournaments/NAME`"),
    ],
    target: Annotated[str, Argument(metavar="OUT", help="File or folder; `games.psq/` gets one file per game")],
    place: TournamentPlace,
    rows: Annotated[Rows, Option("--rows", help="Rows of a Parquet file", rich_help_panel="Output")] = Rows.GAMES,
    license: Annotated[
        str,
        Option(
            "--license",
            metavar="NAME",
            help="Licence in the card of a Parquet file, e.g. `CC0-1.0`. Default: not stated",
            rich_help_panel="Output",
        ),
    ] = "",
    *,
    files: FileDialect,
    output: OutputOptions,
) -> None:
    """Convert the games in a file or tournament: JSON lines, SGF, psq, Parquet, PGN tags, CSV.

    `tournaments/NAME` is a tournament on the server, or in the database of --db.

    The file name determines the format. JSON lines and Parquet hold everything, SGF everything except fields added by
    other programs. psq holds moves, times in whole milliseconds, names, the rule and the result. PGN and CSV hold
    results without moves; White, as for Ordo and BayesElo, is the side that moved first. A Parquet file has a row for
    each game, for each move, or for each position that `records sample` would choose, and a card next to it: README.md.
    """
    with place.file(source) as file:
        source_format = format_of(file)
        target_format = format_of(target)
        needs_moves = source_format in WITHOUT_MOVES and target_format not in WITHOUT_MOVES
        without_moves = UsageProblem(
            f"{source}: got results without moves, expected games for {target}: .jsonl, .sgf, .psq or .parquet",
            "Convert to .csv or .pgn, or name the file that has the moves.",
        )
        if needs_moves and source_format == ".csv":
            raise without_moves
        count = 0
        loses_facts = False
        with counting("Games") as show, writing_games(target, DataSet(rows, license, source)) as write:
            for placed in read_games(file, dialect=files.dialect):
                with problems_with(place_in(source, placed), RecordError, raises=Problem):
                    game = valid_game(source, placed)
                    if (
                        needs_moves and not game.moves
                    ):  # PGN games that Noughts wrote have moves if bots reported scores.
                        raise without_moves
                    write(game)
                loses_facts = loses_facts or (target_format not in WITH_TOURNAMENTS and _has_more_than_games(game))
                count += 1
                show(count, None)
    if loses_facts:
        printing.warn(
            f"{target}: {target_format} files cannot hold the byes, withdrawn bots and bracket of a tournament, so "
            f"their tables count games only. Files that can: {', '.join(WITH_TOURNAMENTS)}."
        )
    summary = f"{printing.count(count, 'game')} from {source} to {target}."
    output.show({"games": count, "from": source_format[1:], "to": target_format[1:]}, lambda: printing.note(summary))


def _has_more_than_games(game: RecordedGame) -> bool:
    """Return whether the game's record has facts about its tournament that no game shows, e.g. byes."""
    facts = game.more.get("tournament")
    return isinstance(facts, dict) and any(facts.get(name) for name in ("byes", "withdrawn", "pairings", "bracket"))
