"""`noughts bot`: the reference bots, and the bots registered on a server."""

import os
import sys
from collections.abc import Iterator
from typing import Annotated, Any

from typer import Argument, Option

from noughts_bots.hosts.installed import installed_bots
from noughts_bots.reference.ask import Answer, answer, document
from noughts_bots.reference.registry import REFERENCE_BOTS
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_bots.sdk.bot import Bot, Resign
from noughts_proto.transport import SERVER_VARIABLE
from noughts_proto.v1 import bots_pb2 as pb
from noughts_referee.rules import Position, PositionError, Variant, cell_name, cell_names
from noughts_server.cli import completion, options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.options.game import AnyVariantOption, own_variant, read_seed, read_variant
from noughts_server.cli.options.output import LimitOption
from noughts_server.cli.options.sandbox import START_SECONDS, SandboxOptions, StartTimeoutOption
from noughts_server.cli.startable import TRY_A_MATCH, check_startable, require_frames_on_pipes
from noughts_server.cli.times import exact, iso, milliseconds
from noughts_server.cli.typed_names import read_bot
from noughts_server.client.client import LARGEST_PAGE
from noughts_server.core.natural_order import natural_key
from noughts_server.core.resource_names import short
from noughts_server.launching.launcher import Locking

_BOT_FIELDS = (
    *("name", "kind", "syntax", "description", "variants", "package"),
    *("owner", "latest_version", "online", "open_to_organisers", "open_to_tests", "created", "retired"),
)
_NOTHING_KNOWN: dict[str, Any] = dict.fromkeys(_BOT_FIELDS)
"""The JSON fields of a bot, all null."""


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
    sandbox: SandboxOptions = SandboxOptions(),
) -> None:
    """Print a bot's move in each position on stdin, one position per line.

    A position is written row by row as `.`, `X` (moves first) and `O`, without spaces; a `/` between rows is allowed.
    After a space comes the side to move, which the bot plays; it is required if the counts are ambiguous.

    A plugin or program (`py:`, `dll:`, `exec:`, `lines:`, `gomocup:`) answers from a sandboxed process, as in a
    tournament. It gets moves that lead to the position, and can report only the score of its own move. The command
    refuses positions in which the game is over.
    """
    asked = _asked(spec, variant, read_seed(seed), sandbox.locking, start_timeout)
    output.show_each((document(position, answer) for position, answer in asked), lambda: _print_answers(asked))


def _print_answers(asked: Iterator[tuple[Position, Answer]]) -> None:
    columns = ("position", ">move", "candidates", "scores")
    rows = (_answer_row(position, answered) for position, answered in asked)
    if sys.stdin.isatty():
        for row in rows:  # as soon as the position is typed
            printing.stdout().print(printing.table(columns, [row]))
    else:
        printing.stdout().print(printing.table(columns, list(rows)))


def _asked(
    spec: str, variant: str | None, seed: int, locking: Locking, start_timeout: float
) -> Iterator[tuple[Position, Answer]]:
    """Yield the positions on stdin and the bot's answers. An error on a terminal is a warning, in a file a Problem."""
    from noughts_server.cli.bots.ask_child import asked_child

    parsed = parse_spec(spec)
    chosen = None if variant is None else read_variant(variant)
    require_frames_on_pipes(parsed, TRY_A_MATCH)
    if check_startable(parsed, locking):
        with asked_child(parsed, chosen, locking, start_timeout) as (bot, asked_variant):
            yield from _answers(bot, asked_variant, seed)
    else:
        asked_variant = chosen or own_variant(make_bot(parsed).variants)
        yield from _answers(make_bot(parsed, asked_variant), asked_variant, seed)


def _answers(bot: Bot, parsed_variant: Variant, seed: int) -> Iterator[tuple[Position, Answer]]:
    typed = sys.stdin.isatty()
    if typed:
        rows = printing.count(parsed_variant.cells // parsed_variant.columns, "row")
        printing.note(
            f"Type positions, one per line: {rows} of {parsed_variant.columns} cells, '.', 'X' or 'O' each,\n"
            "then a space and the side to move, if the counts are ambiguous. Press Ctrl-D to end."
        )
    empty = not typed
    for number, line in enumerate(sys.stdin.buffer, start=1):
        text = line.decode("utf-8", "replace").strip()
        if not text:
            continue
        empty = False
        try:
            position = Position.parse(parsed_variant, text, seed=seed)
            if over := _over(position):
                raise PositionError(text, f"a game that is not over: {over}")
            yield position, answer(bot, position)
        except PositionError as error:
            if not typed:
                raise Problem(f"line {number}: {error}") from error
            printing.warn(f"{error}.")
        except Resign as resignation:
            why = f": {resignation}" if str(resignation) else ""
            if not typed:
                raise Problem(f"line {number}: the bot resigns{why}") from None
            printing.warn(f"the bot resigns{why}.")
    if empty:
        raise UsageProblem(
            "standard input: got no position, expected one per line",
            "For example: echo 'X...O...X O' | noughts bot ask pascal:level=1",
        )


def _over(position: Position) -> str:
    """Return how the game has ended in this position, in words; empty if it has not."""
    outcome = position.outcome()
    if outcome is None:
        return ""
    return "the board is full" if outcome.winner is None else f"{'XO'[outcome.winner]} has won already"


def _answer_row(position: Position, answer: Answer) -> tuple[object, ...]:
    variant = position.variant
    shown = " ".join(f"{cell_name(variant, cell)}:{score:g}" for cell, score in answer.scores.items())
    return position, cell_name(variant, answer.move), cell_names(variant, answer.candidates), shown


@command(
    example="""
$ noughts bot list
...
random                                  a random free cell  every variant
...

$ noughts bot list --server 127.0.0.1:7450 --online
bot      owner  version  online
...
mybot    alice  1        yes
...
"""
)
def list_bots(
    online: Annotated[bool, Option("--online", help="Only bots of the server that are online")] = False,
    retired: Annotated[bool, Option("--retired", help="Include retired bots of the server")] = False,
    reference: Annotated[
        bool, Option("--reference", help="Bots of this machine, even if NOUGHTS_SERVER is set")
    ] = False,
    limit: LimitOption = None,
    at: AtServer = AtServer(),
) -> None:
    """List reference bots and installed bots; with --server or NOUGHTS_SERVER, registered bots."""
    of_server = at.server is not None or online or retired
    if reference and of_server:
        raise UsageProblem("--reference: got an option for the bots of a server as well", "Leave out one of them.")
    is_given = bool(os.environ.get(SERVER_VARIABLE))
    if reference or not (of_server or is_given):
        _list_reference_bots()
        return
    with at.connected() as client:
        request = pb.ListBotsRequest(online_only=online, show_retired=retired)

        def rows(most: int | None) -> list[pb.Bot]:
            # The server sorts within a page, so a short page would not hold the first of all bots.
            wanted = None if most is None else max(most, LARGEST_PAGE)
            found = list(client.each(client.bots.ListBots, request, lambda page: page.bots, wanted))
            return sorted(found, key=lambda bot: natural_key(bot.name))[:most]

        found = list(options.limited(rows, limit))
    shown = [(short(row.name), row.owner, row.latest_version.rpartition("/")[2], _presence(row)) for row in found]
    columns = ("bot", "owner", "version", "online")
    output.show_rows({"bots": list(map(_bot_document, found))}, columns, shown, "No bots.")
    if is_given and not of_server:
        output.hint(
            f"These bots are registered at {SERVER_VARIABLE}. Bots of this machine: noughts bot list --reference"
        )


@command(
    example="""
$ noughts bot register newbot
newbot is registered in version 1.
Enter it with: noughts tournament join TOURNAMENT --bot newbot
"""
)
def register(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the bot: an unused name, or one of your bots")],
    version: Annotated[
        str, Option("--version", metavar="V", help="Version that the bot will log in as. Default: `1` for a new bot")
    ] = "",
    open_to_organisers: Annotated[
        bool | None,
        Option(
            "--open-to-organisers/--closed-to-organisers",
            show_default=False,
            help="Let organisers enter it in their tournaments (or not: the default)",
        ),
    ] = None,
    open_to_tests: Annotated[
        bool | None,
        Option(
            "--open-to-tests/--closed-to-tests",
            show_default=False,
            help="Let others test their bots against it (or not: the default)",
        ),
    ] = None,
    at: AtServer = AtServer(),
) -> None:
    """Register a bot that has not connected yet, so that you can enter it in tournaments.

    Only you can enter your bot, unless it is open to organisers: then the organiser of a tournament can enter it, too.
    Only you can test a version against your bot, unless it is open to tests: then others can while it is online.
    For a bot that is registered already, the command changes only what its options say.
    """
    request = pb.RegisterBotRequest(
        name=read_bot(name), version=version, open_to_organisers=open_to_organisers, open_to_tests=open_to_tests
    )
    with at.connected() as client:
        registered = client.call(client.bots.RegisterBot, request).bot
    called, newest = short(registered.name), registered.latest_version.rpartition("/")[2]
    consent = " Organisers can enter it in their tournaments." if registered.open_to_organisers else ""
    consent += " Others can test their bots against it." if registered.open_to_tests else ""
    output.show(_bot_document(registered), f"{called} is registered in version {newest}.{consent}")
    output.hint(f"Enter it with: noughts tournament join TOURNAMENT --bot {called}")


@command(
    example="""
$ noughts bot rename newbot betterbot
newbot is now called betterbot.
"""
)
def rename(
    old: Annotated[str, Argument(metavar="OLD", autocompletion=completion.bots, help="Your bot")],
    new: Annotated[str, Argument(metavar="NEW", help="New name of the bot")],
    at: AtServer = AtServer(),
) -> None:
    """Rename your bot. Entries keep their labels; start the bot under the new name from now on."""
    request = pb.UpdateBotRequest(name=read_bot(old), new_name=short(read_bot(new)))
    with at.connected() as client:
        renamed = client.call(client.bots.UpdateBot, request).bot
    output.show(_bot_document(renamed), f"{short(request.name)} is now called {short(renamed.name)}.")
    if renamed.online:
        output.hint(f"It is online and continues; start it as {short(renamed.name)} next time.")


@command(
    example="""
$ noughts bot retire betterbot
betterbot is retired.

$ noughts bot retire betterbot --undo
betterbot is active again.
"""
)
def retire(
    name: Annotated[str, Argument(metavar="NAME", autocompletion=completion.bots, help="Your bot")],
    undo: Annotated[bool, Option("--undo", help="Reactivate a retired bot")] = False,
    at: AtServer = AtServer(),
) -> None:
    """Retire your bot: it can no longer log in or enter tournaments. Its games and ratings are kept."""
    request = pb.RetireBotRequest(name=read_bot(name), undo=undo)
    with at.connected() as client:
        retired = client.call(client.bots.RetireBot, request).bot
    output.show(_bot_document(retired), f"{short(retired.name)} is {'active again' if undo else 'retired'}.")


def _presence(row: pb.Bot) -> str:
    return "retired" if row.HasField("retire_time") else "yes" if row.online else "no"


def _bot_document(row: pb.Bot) -> dict[str, Any]:
    return {
        **_NOTHING_KNOWN,
        "name": short(row.name),
        "kind": "registered",
        "syntax": f"bot:{short(row.name)}",
        "owner": row.owner,
        "latest_version": row.latest_version,
        "online": row.online,
        "open_to_organisers": row.open_to_organisers,
        "open_to_tests": row.open_to_tests,
        "created": exact(row, "create_time"),
        "retired": iso(milliseconds(row, "retire_time")),
    }


def _list_reference_bots() -> None:
    # Read only metadata: no foreign code runs in this process. The package describes its bot.
    installed = installed_bots()
    if output.is_json():
        rows: list[tuple[str | None, ...]] = [
            (name, "reference", row.syntax, row.description, row.bot.boards) for name, row in REFERENCE_BOTS.items()
        ]
        rows += [(f"py:{row.name}", "package", f"py:{row.name}", row.summary, "", row.package) for row in installed]
        printing.print_json({"bots": [_NOTHING_KNOWN | dict(zip(_BOT_FIELDS, row, strict=False)) for row in rows]})
        return
    console = printing.stdout()
    ours = [(row.syntax, row.description, row.bot.boards) for row in REFERENCE_BOTS.values()]
    theirs = [(f"py:{row.name}", row.summary, f"see package {row.package} {row.version}") for row in installed]
    # A broken spec could not be copied; on a narrow terminal the other columns need the space more.
    whole = console.width >= 80
    console.print(printing.table(("spec", "what it does", "plays"), [*ours, *theirs], first_whole=whole))
    console.print(
        "\nAn option follows a colon, as in nextstep:depth=3; your own name for the bot goes before a =.\n"
        "Not listed: py:FILE.py:CLASS, dll:FILE.so, lines:COMMAND, exec:COMMAND, gomocup:COMMAND. Try one "
        "with: noughts bot check SPEC\n"
        "Bots at a server: noughts bot list --server HOST:PORT"
    )
