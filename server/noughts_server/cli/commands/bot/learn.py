"""`noughts bot learn`: training of the bot `learner`."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from noughts_bots.reference.candidate_bot import CandidateBot
from noughts_bots.reference.learner import Learner
from noughts_bots.reference.random_ import Random
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.reference.training import Chances, Trainer, can_lose, chances
from noughts_referee.rules import Variant
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.learning_curve import Evaluation, check_target, write_curve
from noughts_server.cli.drawing.progress import counting
from noughts_server.cli.errors import INTERRUPTED
from noughts_server.cli.options.game import SeedOption, VariantOption, read_seed, read_variant
from noughts_server.cli.options.output import OutputOptions

_SELF = "self"
_LARGEST_GAMES = 100_000_000
# Points of a curve; on larger boards each point takes seconds.
_CURVE_POINTS = 30
_SMALL_BOARD = 9
_FEW_CURVE_POINTS = 8
_GAMES_PER_PROGRESS_UPDATE = 50


@command(
    example="""
$ noughts bot learn -o my.tab --training-games 2000 --against random --seed 1
my.tab: tictactoe, learnt from 2,000 games (2,000 of them now, ...
against  moving    wins   draws  losses  points
...
random   first   0.9010  0.0777  0.0213  0.9399
random   second  0.5830  0.1227  0.2943  0.6444
...
"""
)
def learn(
    file: Annotated[
        Path,
        Option(
            "-o", "--output", "--file", metavar="FILE", help="Table to continue or create", rich_help_panel="Output"
        ),
    ],
    games: Annotated[
        int,
        Option(
            "--training-games",
            "--games",
            metavar="N",
            min=1,
            max=_LARGEST_GAMES,
            help="Training games",
            rich_help_panel="Game",
        ),
    ],
    against: Annotated[
        list[str],
        Option(
            "--against",
            metavar="SPEC",
            help="Opponent, or `self` (repeatable: opponents take turns)",
            rich_help_panel="Game",
        ),
    ],
    variant: VariantOption = "tictactoe",
    seed: SeedOption = None,
    curve: Annotated[
        Path | None,
        Option(
            "--curve",
            metavar="FILE.svg",
            help="Learning curve as a chart; its numbers go to FILE.csv",
            rich_help_panel="Output",
        ),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Train the bot `learner`: play games in this process and correct its table after each.

    The command then prints the exact score of the trained learner against each opponent, from the whole game tree, and
    whether any opponent could beat it. After Ctrl-C the table keeps what was learnt. The same seed and the same
    starting table produce the same table.
    """
    if curve is not None:
        check_target(curve)
    rules, seed = read_variant(variant), read_seed(seed)
    opponents = {text: None if text == _SELF else make_bot(parse_spec(text), rules) for text in against}
    learner = Learner(file, learn=True)
    learner.prepare()
    try:
        trainer = Trainer(learner, rules, [opponents[text] for text in against], seed)
        other_bots = {text: bot for text, bot in zip(against, trainer.opponents, strict=True) if bot is not None}
        training = _Training(learner, trainer, rules, other_bots or {"random": Random()})
        with _interruptible() as is_stopped:
            training.run(games, with_curve=curve is not None, is_stopped=is_stopped)
            is_interrupted = is_stopped()
    finally:
        learner.close()
    document = training.document(file) | {
        **printing.seed_document(seed),
        "interrupted": is_interrupted,
        "curve": None,
    }
    if curve is not None:
        title = f"learner against {', '.join(dict.fromkeys(against))}: {rules.name}, seed {seed}"
        table = write_curve(curve, title, training.curve)
        document["curve"] = {"svg": str(curve), "csv": str(table)}
    output.show(document, lambda: _print(document, training.last_evaluations()))
    if is_interrupted:
        printing.note(f"Interrupted after {document['new_games']:,} of {games:,} games.")
        raise SystemExit(INTERRUPTED)


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Yield a function that reports whether SIGINT or SIGTERM arrived. In the block they do not interrupt a game."""
    arrivals: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM)
    previous_handlers = [signal.signal(number, lambda number, _: arrivals.append(number)) for number in signals]
    try:
        yield lambda: bool(arrivals)
    finally:
        for number, handler in zip(signals, previous_handlers, strict=True):
            signal.signal(number, handler)


class _Training:
    """The training of one call: it plays the games, and evaluates the learner against each opponent."""

    def __init__(
        self, learner: Learner, trainer: Trainer, variant: Variant, opponents: dict[str, CandidateBot]
    ) -> None:
        self._learner = learner
        self._trainer = trainer
        self._variant = variant
        self._opponents = opponents
        self._games_before = learner.games
        self._seconds = 0.0
        self.curve: list[Evaluation] = []

    def run(self, games: int, *, with_curve: bool, is_stopped: Callable[[], bool]) -> None:
        """Play `games` games; evaluate at the end and, for a curve, at the beginning and in between."""
        points = _CURVE_POINTS if self._variant.cells <= _SMALL_BOARD else _FEW_CURVE_POINTS
        # More points at the beginning, because the learner improves most there.
        evaluation_points = iter([*sorted({games * step * step // points**2 for step in range(points)}), games])
        next_evaluation = next(evaluation_points) if with_curve else games
        with counting("Games") as show:
            for games_played in range(games + 1):
                if games_played == next_evaluation or is_stopped():
                    self._evaluate()
                    next_evaluation = next(evaluation_points, games)
                    show(games_played, games, self._progress_text())
                if games_played == games or is_stopped():
                    return
                start = time.perf_counter()
                self._trainer.play()
                self._learner.save_if_due()
                self._seconds += time.perf_counter() - start
                if games_played % _GAMES_PER_PROGRESS_UPDATE == 0:
                    show(games_played, games, self._progress_text())

    def last_evaluations(self) -> list[Evaluation]:
        """Return the evaluations after the last game, of which each opponent has two."""
        return [row for row in self.curve if row.games == self._learner.games]

    def document(self, file: Path) -> dict[str, Any]:
        new_games = self._learner.games - self._games_before
        return {
            "file": str(file),
            "variant": self._variant.name,
            "games": self._learner.games,
            "new_games": new_games,
            "games_per_second": round(new_games / self._seconds) if self._seconds else 0,
            "can_lose": {
                "first": can_lose(self._learner, 0, self._variant),
                "second": can_lose(self._learner, 1, self._variant),
            },
            "chances": [row.document() for row in self.last_evaluations()],
        }

    def _evaluate(self) -> None:
        if self.curve and self.curve[-1].games == self._learner.games:
            return
        for name, rival in self._opponents.items():
            as_first = chances(self._learner, rival, self._variant)
            as_second = chances(rival, self._learner, self._variant)
            self._note(name, 0, as_first)
            self._note(name, 1, Chances(wins=as_second.losses, draws=as_second.draws, losses=as_second.wins))

    def _note(self, opponent: str, side: int, exact: Chances) -> None:
        self.curve.append(
            Evaluation(
                games=self._learner.games,
                opponent=opponent,
                side=side,
                wins=float(exact.wins),
                draws=float(exact.draws),
                losses=float(exact.losses),
                points=float(exact.points),
            )
        )

    def _progress_text(self) -> str:
        """Return the mean points per game in the latest evaluation; empty before the first."""
        latest = [row.points for row in self.curve[-2 * len(self._opponents) :]]
        return f"{sum(latest) / len(latest):.3f} points a game" if latest else ""


def _print(document: dict[str, Any], rows: list[Evaluation]) -> None:
    console = printing.stdout()
    learnt = f"learnt from {printing.count(document['games'], 'game')}"
    speed = f"{document['new_games']:,} of them now, {document['games_per_second']:,} a second, seed {document['seed']}"
    console.print(f"{document['file']}: {document['variant']}, {learnt} ({speed}).", soft_wrap=True)
    cells = [
        (
            row.opponent,
            row.document()["side"],
            f"{row.wins:.4f}",
            f"{row.draws:.4f}",
            f"{row.losses:.4f}",
            f"{row.points:.4f}",
        )
        for row in rows
    ]
    console.print(printing.table(("against", "moving", ">wins", ">draws", ">losses", ">points"), cells))
    for side, can_be_beaten in document["can_lose"].items():
        verdict = "can be beaten" if can_be_beaten else "cannot be beaten by anybody"
        console.print(f"Moving {side} it {verdict}.")
    if document["curve"]:
        console.print(f"Curve: {document['curve']['svg']}, {document['curve']['csv']}", soft_wrap=True)
    console.print(f"Play it: noughts match learner:file={document['file']} random --games 100", soft_wrap=True)
