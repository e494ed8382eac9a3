"""`noughts bot gomocup`: a reference bot for managers of Gomoku engines."""

import os
import sys
from typing import Annotated

from typer import Argument, Option

from noughts_bots.gomocup.engine import GomocupEngine
from noughts_bots.gomocup.protocol import Lines
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.options.game import read_seed
from noughts_server.cli.options.output import OutputOptions
from noughts_server.core.version import software_version

_CHUNK_BYTES = 1 << 16


@command(
    example="""
$ printf 'START 15\\nBEGIN\\nEND\\n' | noughts bot gomocup minimax:depth=2
OK
0,0
"""
)
def gomocup(
    spec: Annotated[
        str,
        Argument(
            metavar="SPEC",
            autocompletion=completion.specs,
            help="Reference bot, e.g. `threats` or `minimax:depth=2`",
        ),
    ],
    seed: Annotated[
        int | None,
        Option(
            "--seed",
            metavar="S",
            help="Seed of the bot's random numbers. Default: a random seed",
            rich_help_panel="Game",
        ),
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Play as a reference bot for any manager that speaks the Gomocup protocol, on stdin and stdout.

    It plays five in a row on boards up to 30x30. `INFO rule` 1 (exactly five), 4 (renju), 8 and 9 (caro) need 15x15 or
    20x20, and a bot that plays the variant. The bot follows the manager's time limits if it can. It does not learn.
    """
    bot = make_bot(parse_spec(spec))
    seed = read_seed(seed)
    engine = GomocupEngine(bot, name=f"noughts-{bot.name}", version=software_version(), seed=seed)
    if sys.stdin.isatty():
        printing.note(
            "This is for a manager of Gomoku engines. To try it: START 15, then BEGIN or TURN 7,7; END stops it."
        )
    bot.prepare()
    try:
        _converse(engine)
    finally:
        bot.close()
    if output.is_json:
        sys.stderr.write(printing.compact_json({"games": engine.games, "moves": engine.moves, "seed": seed}) + "\n")


def _converse(engine: GomocupEngine) -> None:
    """Answer each line as soon as it arrives, until END or the end of stdin."""
    lines = Lines()
    is_open = True
    while is_open:
        chunk = os.read(sys.stdin.fileno(), _CHUNK_BYTES)
        is_open = bool(chunk)
        for line in lines.feed(chunk) if chunk else lines.rest():
            answer = engine.answer(line)
            if engine.ended:
                return
            if answer is not None:
                print(answer, flush=True)
