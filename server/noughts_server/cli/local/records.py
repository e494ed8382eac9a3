"""`noughts records`: files of games, converted, checked, listed, shown and sampled."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from noughts_server.cli import options, output, printing
from noughts_server.cli.drawing.boards import cells_text
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.former_command import command
from noughts_server.cli.game_sources import FileDialect, TournamentPlace, games_in, place_in, valid_game
from noughts_server.cli.local.records_show import show_game
from noughts_server.records.data_set import DataSet, Rows
from noughts_server.records.filters import Wanted
from noughts_server.records.formats import (
    WITH_TOURNAMENTS,
    WITHOUT_MOVES,
    format_of,
    read_games,
    replacing,
    writing_games,
)
from noughts_server.records.json_lines import json_document
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.replay import Finding, check_games
from noughts_server.records.sampling import write_csv, write_npz
from noughts_server.tables.recorded_game import RecordedGame

FileArgument = Annotated[str, Argument(metavar="FILE", help="Games: .jsonl, .sgf, .psq, .parquet, .pgn or .csv")]
_MOST_SHOWN = 20


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
    files: FileDialect,
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
) -> None:
    """Convert the games in a file or tournament: JSON lines, SGF, psq, Parquet, PGN tags, CSV.

    `tournaments/NAME` is a tournament on the server, or in the database of --db.

    The file name determines the format. JSON lines and Parquet hold everything, SGF everything except fields added by
    other programs. psq holds moves, times in whole milliseconds, names, the rule and the result. PGN and CSV hold
    results without moves; White, as for Ordo and BayesElo, is the side that moved first. A Parquet file has a row for
    each game, for each move, or for each position that `records sample` would choose, and a card next to it: README.md.
    """
    with place.file(source) as file:
        kinds = format_of(file), format_of(target)
        if kinds[0] in WITHOUT_MOVES and kinds[1] not in WITHOUT_MOVES:
            words = f"{source}: got results without moves, expected games for {target}: .jsonl, .sgf, .psq or .parquet"
            raise UsageProblem(words, "Convert to .csv or .pgn, or name the file that has the moves.")
        count, lost = 0, False
        with counting("Games") as show, writing_games(target, DataSet(rows, license, source)) as write:
            for placed in read_games(file, dialect=files.dialect):
                with problems_with(place_in(source, placed), RecordError, raises=Problem):
                    game = valid_game(source, placed)
                    write(game)
                lost = lost or (kinds[1] not in WITH_TOURNAMENTS and _has_more_than_games(game))
                count += 1
                show(count, None)
    if lost:
        printing.warn(
            f"{target}: {kinds[1]} files cannot hold the byes, withdrawn bots and bracket of a tournament, so their "
            f"tables count games only. Files that can: {', '.join(WITH_TOURNAMENTS)}."
        )
    told = f"{printing.count(count, 'game')} from {source} to {target}."
    output.show({"games": count, "from": kinds[0][1:], "to": kinds[1][1:]}, lambda: printing.note(told))


def _has_more_than_games(game: RecordedGame) -> bool:
    """Return whether the game says what decided its tournament apart from its games."""
    facts = game.more.get("tournament")
    return isinstance(facts, dict) and any(facts.get(name) for name in ("byes", "withdrawn", "pairings", "bracket"))


@command(
    example="""
$ noughts records check games.jsonl
30 games: nothing wrong
"""
)
def check(file: FileArgument, files: FileDialect) -> None:
    """Replay every game in a file according to the rules and report errors.

    Exit code 1 if there are any. A file without games is an error.
    """
    games = 0
    found: list[Finding] = []

    def note(findings: Sequence[Finding]) -> None:
        found.extend(findings)
        for finding in findings if not output.is_json() else ():
            text = f"{finding.file or file}, line {finding.line}: {finding.error}"
            printing.stdout().print(printing.printable(text), soft_wrap=True)

    placed = read_games(file, dialect=files.dialect)
    for findings in check_games(placed, with_moves=format_of(file) not in WITHOUT_MOVES):
        games += 1
        note(findings)
    if not games:
        note([Finding(1, "got a file without games, expected at least one")])
    wrong = printing.count(len(found), "error") if found else "nothing wrong"
    errors = [{"line": each.line, "error": each.error, **({"file": each.file} if each.file else {})} for each in found]
    output.show({"games": games, "errors": errors}, f"{printing.count(games, 'game')}: {wrong}")
    if found:
        raise SystemExit(1)


@command(
    example="""
$ noughts records list games.jsonl --bot random --result drawn
 #  first        second       result   termination  plies  opening
...
 2  random       three-stage  1/2-1/2  board_full       9
...
"""
)
def list_games(
    file: FileArgument,
    files: FileDialect,
    bot: Annotated[str | None, Option("--bot", metavar="BOT", help="Only games of this bot")] = None,
    against: Annotated[
        str | None, Option("--opponent", "--against", metavar="NAME", help="Only games against this bot")
    ] = None,
    variant: Annotated[
        str | None, Option("--variant", metavar="V", help="Only games of this variant", rich_help_panel="Game")
    ] = None,
    result: Annotated[
        str | None,
        Option(
            "--result", metavar="R", help="Only this result: `1-0`, `1/2-1/2`, `0-1`; with --bot `won`, `lost`, ..."
        ),
    ] = None,
    termination: Annotated[
        str | None,
        Option("--termination", metavar="HOW", help="Only games that ended this way: `line`, `timeout`, ..."),
    ] = None,
    opening: Annotated[
        str | None,
        Option("--opening", metavar="CELLS", help="Only games with these first moves: `h8i9` or `[112, 98]`"),
    ] = None,
    limit: options.LimitOption = None,
) -> None:
    """List the games in a file, or a selection of them."""
    try:
        wanted = Wanted(bot, against, variant, result, termination, opening)
    except ValueError as error:
        raise UsageProblem(str(error)) from error
    chosen = ((number, game) for number, game in enumerate(games_in(file, files.dialect), start=1) if wanted(game))
    rows = options.limited(lambda most: islice(chosen, most), limit)
    columns = (">#", "first", "second", "result", "termination", ">plies", "opening")
    has_moves = format_of(file) not in WITHOUT_MOVES
    output.show_each(
        ({"number": number, **json_document(game)} for number, game in rows),
        lambda: printing.print_rows(columns, (_row(*row, has_moves) for row in rows), f"No such games in {file}."),
    )


def _row(number: int, game: RecordedGame, has_moves: bool) -> tuple[object, ...]:
    opening = cells_text(game.variant, game.opening[:_MOST_SHOWN])
    plies = len(game.moves) if has_moves else "-"
    return number, game.first, game.second, game.result, game.termination or "-", plies, opening


@command(
    example="""
$ noughts records show games.jsonl 1
Game 1: three-stage (X) - minimax (O)
1/2-1/2, board full; tictactoe, 9 plies
 3 X O X
 2 X O O
 1 O X X
...
""",
    extra="server",
)
def show(
    file: FileArgument,
    files: FileDialect,
    number: Annotated[int, Argument(metavar="N", help="Number of the game in the file, from 1")] = 1,
) -> None:
    """Show one game: step by step on a terminal, otherwise its last position and its moves.

    Keys: Left and Right step one ply, Up and Down ten; Home and End go to the first and last position; p and n show the
    previous and next game; q quits.
    """
    require_moves(file)
    show_game(file, number, partial(games_in, dialect=files.dialect))


@command(
    example="""
$ noughts records sample games.jsonl samples.npz
224 samples from games.jsonl to samples.npz.
""",
    extra="server",
)
def sample(
    source: Annotated[
        str, Argument(metavar="FILE", help="Games: .jsonl, .sgf, .psq, .parquet, .pgn, .csv or `tournaments/NAME`")
    ],
    target: Annotated[str, Argument(metavar="OUT", help="Output: `.csv`, or `.npz` for numpy")],
    place: TournamentPlace,
    files: FileDialect,
) -> None:
    """Write training samples: each position, the side to move, its move, and the result for that side.

    CSV: variant, game, position (`X...O....`, rows from the top), side (X or O), move (its cell), result (1, 0 or -1).
    npz: positions (bytes, samples x cells: 0 empty, 1 X, 2 O), sides, moves, results, games; for one variant only.
    Opening moves and games without a result yield no samples. `tournaments/NAME` is a tournament on the server, or in
    the database of --db.
    """
    path = Path(target)
    if path.suffix not in (".csv", ".npz"):
        raise UsageProblem(f"{target}: got the name {path.name!r}, expected one that ends in .csv or .npz")
    with place.file(source) as file, problems_with(source, RecordError, raises=Problem), counting("Games") as show:
        require_moves(file)

        def read() -> Iterator[RecordedGame]:
            for count, game in enumerate(games_in(file, files.dialect), 1):
                show(count, None)
                yield game

        if path.suffix == ".npz":
            samples = write_npz(read, path)
        else:
            with replacing(path) as out:
                samples = write_csv(read(), out)
    told = f"{printing.count(samples, 'sample')} from {source} to {target}."
    output.show({"samples": samples}, lambda: printing.note(told))


def require_moves(file: str) -> None:
    if format_of(file) in WITHOUT_MOVES:
        words = f"{file}: got results without moves, expected games: .jsonl, .sgf, .psq or .parquet"
        raise UsageProblem(words, "Name the file that has the moves.")
