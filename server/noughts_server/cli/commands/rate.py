"""The command `noughts rate`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.rating_table import print_ratings, ratings_document
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.game_sources import FileDialect, TournamentPlace
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.statistics import AnchorOption, read_anchors
from noughts_server.records.results_file import ResultsError, read_results
from noughts_server.tables.tally import Tally


@command(
    example="""
$ noughts rate results.csv
#  bot   rating   ±  games  points   %   W   D   L  D%   opp  LOS
...
1  ada     1747  88     20     17½  88  15   5   0  25  1377  100
2  ben     1500  83     20      10  50   5  10   5  50  1500  100
3  cleo    1253  88     20      2½  12   0   5  15  25  1623    -
...
""",
    extra="server",
)
def rate(
    source: Annotated[
        str, Argument(metavar="FILE", help="Games: .csv, .jsonl, .sgf, .psq, .parquet, .pgn or `tournaments/NAME`")
    ],
    place: TournamentPlace,
    anchor: AnchorOption = None,
    prior: Annotated[
        bool,
        Option(
            "--prior",
            help="Add two virtual draws per bot against the mean, so that all share one scale",
            rich_help_panel="Statistics",
        ),
    ] = False,
    los: Annotated[
        bool,
        Option(
            "--los", help="Matrix of likelihoods that one bot is stronger than another", rich_help_panel="Statistics"
        ),
    ] = False,
    without_forfeits: Annotated[
        bool,
        Option(
            "--without-forfeits",
            help="Leave out games lost by a fault: time, illegal move, crash, exception",
            rich_help_panel="Statistics",
        ),
    ] = False,
    *,
    files: FileDialect,
    output: OutputOptions,
) -> None:
    """Compute ratings from all games in a file or tournament, with 95 % intervals and first-move advantage.

    `tournaments/NAME` is a tournament on the server, or in the database of --db.

    The command recognises every format of `noughts records convert` by the file name, and reads any other file as JSON
    lines or CSV. A line of CSV is a game: `first,second,result`, or `white,black,result`, in which White moved first.
    The result is `1-0`, `0-1`, `1/2-1/2`, or `*` for a game that does not count. A header can name more columns;
    `termination` marks forfeits, also in the words of other programs. Games that the file marks
    as lost by a withdrawal do not count. If the moves are known and the same bots play an identical game again, it
    counts only once. Games can be in any order.
    """
    anchors = read_anchors(anchor)
    try:
        with place.file(source) as file:
            tally, void = read_results(Path(file), forfeits=not without_forfeits, dialect=files.dialect)
    except ResultsError as error:
        raise UsageProblem(f"{source}, {error}", error.fix or "Correct the line, or leave it out.") from None
    from noughts_server.statistics.batch_fit import FitError
    from noughts_server.statistics.batch_ratings import rate as rate_games
    from noughts_server.statistics.rated_games import count_pairs

    games = count_pairs(((*pair, score.counts) for pair, score in tally.independent_scores.items()), tally.labels)
    if not len(games.first):
        raise _nothing_to_rate(source, tally, void)
    with problems_with(source, FitError):
        ratings = rate_games(games, anchors=anchors, prior=prior)
    forfeits = {name: kinds.total() for name, kinds in tally.faults.items()}
    if output.is_json:
        counts = {"forfeits": forfeits, "void": void, "repeats": tally.repeats}
        matrix = {"los": list(ratings.los_matrix())} if los else {}
        printing.print_json({**ratings_document(ratings), **matrix, **counts})
        return
    print_ratings(ratings, ratings if los else None)
    if forfeits:
        numbers = ", ".join(f"{name} {number:,}" for name, number in forfeits.items())
        effect = "are left out" if without_forfeits else "count as losses (--without-forfeits leaves them out)"
        _remark(f"Forfeits: {numbers}; they {effect}.")
    if tally.repeats:
        _remark(f"{tally.repeats:,} of {printing.count(tally.games, 'game')} were repeats and count once.")
    if void:
        _remark(f"{printing.count(void, 'game')} without a result {'does' if void == 1 else 'do'} not count.")


def _nothing_to_rate(source: str, tally: Tally, void: int) -> UsageProblem:
    """Return the error for a source that has no game that counts."""
    forfeits = sum(kinds.total() for kinds in tally.faults.values())
    if forfeits:
        got = f"{printing.count(forfeits, 'forfeit')} and no other game with a result"
        return UsageProblem(f"{source}: got {got}, expected at least one", "Leave out --without-forfeits.")
    got = f"{printing.count(void, 'game')} without a result" if void else "no game that counts"
    return UsageProblem(f"{source}: got {got}, expected at least one", "Name a file with games that have ended.")


def _remark(line: str) -> None:
    printing.stdout().print(printing.printable(line), soft_wrap=True)
