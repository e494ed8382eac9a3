"""The command `noughts records sample`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from typer import Argument

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.records.files import require_moves
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.game_sources import FileDialect, TournamentPlace, games_in
from noughts_server.cli.options.output import OutputOptions
from noughts_server.records.formats import replacing
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.sampling import write_csv, write_npz
from noughts_server.tables.recorded_game import RecordedGame


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
    *,
    files: FileDialect,
    output: OutputOptions,
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
    summary = f"{printing.count(samples, 'sample')} from {source} to {target}."
    output.show({"samples": samples}, lambda: printing.note(summary))
