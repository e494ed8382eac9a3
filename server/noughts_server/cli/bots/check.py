"""`noughts bot check` and `noughts bot header`: for authors of bots that play in a child."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from noughts_server.cli import child_options, options, output
from noughts_server.cli.errors import FAILED
from noughts_server.cli.output import Format
from noughts_server.cli.parameters import Argument, Completes, Option

if TYPE_CHECKING:
    from noughts_server.local.conformance import ConformanceReport

_LARGEST_GAMES = 10_000


def check(
    spec: Annotated[
        str,
        Argument(
            metavar="SPEC",
            help="What is started, e.g. `py:./centre.py:Centre` or `dll:./player.so`.",
            completes=Completes.SPEC,
        ),
    ],
    variant: options.VariantOption = "tictactoe",
    games: Annotated[
        int, Option("--games", min=1, max=_LARGEST_GAMES, metavar="N", help="Moving first and second in turn.")
    ] = 10,
    move_seconds: Annotated[
        float, Option("--patience", min=0.1, max=3_600.0, metavar="SECONDS", help="The longest wait for a move.")
    ] = 5.0,
    seed: Annotated[int, Option("--seed", metavar="S", help="The chance of both sides.")] = 0,
    start_timeout: child_options.StartTimeoutOption = 10.0,
    require_lock: child_options.RequireLockOption = False,
    no_lock: child_options.NoLockOption = False,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Starts a bot as a referee does, plays a few games against random moves, and says what is wrong.

    It is locked in as in a tournament. Exit code 1 if something is wrong. The games are played twice with the same
    seeds; a bot whose games differ draws chance from elsewhere, which is no fault.

    JSON: {"spec", "name", "variant", "games", "wins", "draws", "losses", "resigned", "start_ms", "move_us": {"mean",
    "most"}, "repeats", "faults": [...], "said": the last 64 KB that it printed}; of an engine also "manners": [...],
    what it does that not all do, and "rules": {VARIANT: whether it keeps to the rule that it is told}.
    """
    from noughts_bots.specs import parse_spec
    from noughts_referee.children.running_child import ChildSettings
    from noughts_server.cli.local.children import TRY_A_MATCH, require_frames_on_pipes, require_startable
    from noughts_server.cli.signals import run_loop
    from noughts_server.local.conformance import ConformancePlan
    from noughts_server.local.conformance import check as check_bot
    from noughts_server.local.launcher import launching

    parsed = require_startable(parse_spec(spec))
    require_frames_on_pipes(parsed, TRY_A_MATCH)
    locking = child_options.read_locking(require_lock=require_lock, no_lock=no_lock)
    times = ChildSettings(start=start_timeout)
    plan = ConformancePlan(options.read_variant(variant), games, options.read_seed(seed), move_seconds, times)

    async def checked() -> "ConformanceReport":
        async with launching(locking, output.note) as launcher:
            return await check_bot(parsed, plan, launcher)

    found = run_loop(checked())
    if output_format is Format.JSON:
        output.print_json(found.document())
    else:
        _print(found)
    if found.faults:
        raise SystemExit(FAILED)


def _print(found: "ConformanceReport") -> None:
    lines = []
    document = found.document()
    name = f" ({found.name})" if found.name else ""
    if found.move_us:
        score = f"{found.wins} won, {found.draws} drawn, {found.losses} lost"
        resigned = f", {found.resigned} of them resigned" if found.resigned else ""
        played = output.count(len(found.games), "game")
        lines.append(f"{found.spec}{name}: {played} of {found.variant} against chance: {score}{resigned}.")
        mean, most = (round(document["move_us"][key]) for key in ("mean", "most"))
        # An engine is started for its first game.
        there = "" if found.rules else f"There after {found.start_ms:.0f} ms; "
        lines.append(f"{there}{'A' if found.rules else 'a'} move takes {mean:,} us, at most {most:,} us.")
    lines += [f"It {manner}." for manner in found.manners]
    lines += [f"The rule of {name}: it {kept}." for name, kept in found.rules.items()]
    if found.said:
        lines += ["It printed:", *(f"  {line}" for line in _counted(found.said.splitlines()))]
    if found.faults:
        lines += [f"Wrong: {found.spec}: {fault}." for fault in found.faults]
    else:
        lines.append(
            "Its games are the same again for the same seeds."
            if found.repeats
            else "Its games differ when they are played again: it does not draw from its seed alone."
        )
        lines.append("Nothing is wrong.")
    for line in lines:
        output.stdout().print(output.printable(line), soft_wrap=True)


def _counted(said: Sequence[str]) -> Iterator[str]:
    """The lines, each that is there several times only once, with their number; indented ones belong to those above."""
    times = Counter(said)
    told = set()
    for line in said:
        if line.startswith(" ") or times[line] == 1:
            yield line
        elif line not in told:
            told.add(line)
            yield f"{line}   ({times[line]:,} times)"


def header(
    folder: Annotated[bool, Option("--folder", help="Only its folder, for the compiler's -I.")] = False,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Prints where the C header for bots in shared libraries lies: `noughts_bot.h`.

    JSON: {"header", "folder", "version": of the interface}.
    """
    from noughts_bots.hosts.dll import HEADER, VERSION

    if output_format is Format.JSON:
        output.print_json({"header": str(HEADER), "folder": str(HEADER.parent), "version": VERSION})
    else:
        output.stdout().print(str(HEADER.parent if folder else HEADER), soft_wrap=True)
