"""The command `noughts records accuracy`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from typer import Argument, Option

from noughts_bots.reference.accuracy import EFFORT_OF_GAME, Accuracy, Judges
from noughts_bots.reference.threats.effort import Effort
from noughts_server.cli.command import command
from noughts_server.cli.commands.records.files import require_moves
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import Problem
from noughts_server.cli.game_sources import FileDialect, TournamentPlace, games_in
from noughts_server.cli.options.effort import EffortOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.records.recorded_game import variant_of
from noughts_server.records.replay import record_errors
from noughts_server.tables.accuracy import LEAST_DECISIONS
from noughts_server.tables.recorded_game import RecordedGame


@command(
    example="""
$ noughts records accuracy games.jsonl
bot  games judged  decisions  blunders  per game  accuracy
...
"""
)
def accuracy(
    source: Annotated[str, Argument(metavar="IN", help="Games: .jsonl, .sgf, .psq or `tournaments/NAME`")],
    place: TournamentPlace,
    each: Annotated[bool, Option("--each", help="A row for each game and bot, instead of each bot")] = False,
    effort: EffortOption = EFFORT_OF_GAME,
    *,
    files: FileDialect,
    output: OutputOptions,
) -> None:
    """Count how often each bot kept the exact value of its games.

    A decision is a move in a won or drawn position in which some legal move would make the value worse. A blunder is a
    decision that made it worse. The accuracy is the share of decisions without a blunder. Moves of openings do not
    count. Each game is judged from its end back, as far as `--effort` reaches and `noughts solve` can
    solve the positions: with the extra `connect4` all of Connect Four. `tournaments/NAME` is a tournament on the
    server, or in the database of --db.
    """
    totals: defaultdict[str, Accuracy] = defaultdict(Accuracy)
    games = []
    with place.file(source) as file, counting("Games") as show:
        require_moves(file)
        for number, name, counts in _judge_games(games_in(file, files.dialect), source, effort):
            totals[name] = totals[name].plus(counts)
            if each:
                games.append({"number": number, **_document(name, counts)})
            show(number, None)
    rows = games or [_document(name, totals[name]) for name in sorted(totals, key=lambda name: -_share(totals[name]))]
    first_columns = [">game", "bot"] if each else ["bot"]
    columns = (*first_columns, ">games judged", ">decisions", ">blunders", ">per game", ">accuracy")
    if totals and not any(counts.games for counts in totals.values()):
        output.hint("No position of these games could be solved: `noughts solve --help` says which can.")
    output.show_rows({"games" if each else "bots": rows}, columns, map(_row, rows), f"No games in {source}.")


def _judge_games(games: Iterable[RecordedGame], source: str, effort: int) -> Iterator[tuple[int, str, Accuracy]]:
    """Yield game number, player and accuracy for both players of each game that is not void.

    Raises Problem for an invalid game.
    """
    judges = Judges()
    for number, game in enumerate(games, start=1):
        if error := next(iter(record_errors(game)), None):
            raise Problem(f"{source}, game {number}: {error}", f"noughts records check {source} lists all errors.")
        if game.score is not None:
            sides = judges.of(variant_of(game.variant)).judge(game.moves, game.first_chosen, Effort(effort))
            for name, accuracy in zip((game.first, game.second), sides, strict=True):
                yield number, name, accuracy


def _share(counts: Accuracy) -> float:
    """Return the accuracy as a sort key: bots without a judged decision come last."""
    return -1.0 if counts.share is None else counts.share


def _document(name: str, counts: Accuracy) -> dict[str, Any]:
    return {"bot": name, **counts._asdict(), "blunders_per_game": counts.per_game, "accuracy": counts.share}


def _row(document: dict[str, Any]) -> list[object]:
    *cells, per_game, share = document.values()
    reliable_share = share if "number" in document or document["decisions"] >= LEAST_DECISIONS else None
    return [
        *cells,
        "-" if per_game is None else f"{per_game:.2f}",
        "-" if reliable_share is None else f"{reliable_share:.1%}",
    ]
