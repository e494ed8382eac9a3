"""`noughts bot ask`: a bot's move in positions from stdin."""

import sys
from collections.abc import Iterator
from typing import Annotated

from typer import Argument, Option

from noughts_bots.reference.ask import Answer, answer, document
from noughts_bots.reference.specs import parse_spec
from noughts_bots.sdk.bot import Bot, Resign
from noughts_referee.rules import Position, PositionError, Variant, cell_name, cell_names
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem
from noughts_server.cli.options.game import AnyVariantOption, read_seed, read_variant
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.sandbox import START_SECONDS, SandboxOptions, StartTimeoutOption
from noughts_server.cli.position_lines import stdin_lines
from noughts_server.launching.launcher import SandboxMode


@command(
    example="""
$ echo 'X...O...X O' | noughts bot ask pascal:level=1 --format json
{"position":"X...O...X O","move":3,"candidates":[1,2,3,5,6,7],...}
"""
)
def ask(
    spec: Annotated[
        str,
        Argument(
            metavar="SPEC",
            autocompletion=completion.specs,
            help="Bot, e.g. `random`, `Old=minimax`, 'exec:python bot.py'",
        ),
    ],
    variant: AnyVariantOption = None,
    seed: Annotated[
        int, Option("--seed", metavar="S", help="Seed of the bot's random numbers", rich_help_panel="Game")
    ] = 0,
    start_timeout: StartTimeoutOption = START_SECONDS,
    *,
    sandbox: SandboxOptions,
    output: OutputOptions,
) -> None:
    """Print a bot's move in each position on stdin, one position per line.

    A position is written row by row as `.`, `X` (moves first) and `O`, without spaces; a `/` between rows is allowed.
    After a space comes the side to move, which the bot plays; it is required if the counts are ambiguous.

    A plugin or program (`py:`, `dll:`, `exec:`, `lines:`, `gomocup:`) answers from a sandboxed process, as in a
    tournament. It gets moves that lead to the position, and can report only the score of its own move. The command
    refuses positions in which the game is over.
    """
    answers = _answers_to_stdin(spec, variant, read_seed(seed), sandbox.sandbox_mode, start_timeout)
    output.show_each((document(position, answer) for position, answer in answers), lambda: _print_answers(answers))


def _print_answers(answers: Iterator[tuple[Position, Answer]]) -> None:
    columns = ("position", ">move", "candidates", "scores")
    rows = (_answer_row(position, answer) for position, answer in answers)
    if sys.stdin.isatty():
        for row in rows:  # print each answer as soon as its position is typed
            printing.stdout().print(printing.table(columns, [row]))
    else:
        printing.stdout().print(printing.table(columns, list(rows)))


def _answers_to_stdin(
    spec: str, variant: str | None, seed: int, sandbox_mode: SandboxMode, start_timeout: float
) -> Iterator[tuple[Position, Answer]]:
    """Yield the positions on stdin and the bot's answers.

    A wrong position or a resignation is a warning if stdin is a terminal. Otherwise it raises Problem.
    """
    from noughts_server.cli.commands.bot.child_bot import bot_to_ask

    chosen_variant = None if variant is None else read_variant(variant)
    with bot_to_ask(parse_spec(spec), chosen_variant, sandbox_mode, start_timeout) as (bot, rules):
        yield from _answers(bot, rules, seed)


def _answers(bot: Bot, variant: Variant, seed: int) -> Iterator[tuple[Position, Answer]]:
    is_typed = sys.stdin.isatty()
    if is_typed:
        rows = printing.count(variant.cells // variant.columns, "row")
        printing.note(
            f"Type positions, one per line: {rows} of {variant.columns} cells, '.', 'X' or 'O' each,\n"
            "then a space and the side to move, if the counts are ambiguous. Press Ctrl-D to end."
        )
    for number, text in stdin_lines("echo 'X...O...X O' | noughts bot ask pascal:level=1"):
        try:
            position = Position.parse(variant, text, seed=seed)
            if ending := _ending(position):
                raise PositionError(text, f"a game that is not over: {ending}")
            yield position, answer(bot, position)
        except PositionError as error:
            if not is_typed:
                raise Problem(f"line {number}: {error}") from error
            printing.warn(f"{error}.")
        except Resign as resignation:
            reason = f": {resignation}" if str(resignation) else ""
            if not is_typed:
                raise Problem(f"line {number}: the bot resigns{reason}") from None
            printing.warn(f"the bot resigns{reason}.")


def _ending(position: Position) -> str:
    """Return how the game has ended in this position, in words; empty if it has not."""
    outcome = position.outcome()
    if outcome is None:
        return ""
    return "the board is full" if outcome.winner is None else f"{'XO'[outcome.winner]} has won already"


def _answer_row(position: Position, answer: Answer) -> tuple[object, ...]:
    variant = position.variant
    scores = " ".join(f"{cell_name(variant, cell)}:{score:g}" for cell, score in answer.scores.items())
    return position, cell_name(variant, answer.move), cell_names(variant, answer.candidates), scores
