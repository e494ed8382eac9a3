"""Bots that the referee starts itself, on the command line: what is checked before, and what is told of them after."""

import shlex
import shutil
from typing import TYPE_CHECKING, Any

from noughts_server.cli import output

if TYPE_CHECKING:
    from noughts_bots.gomocup.options import EngineOptions
    from noughts_bots.specs import BotSpec
    from noughts_server.local.run import LocalFault, LocalOutcome, LocalPlan

_SHOWN_LINES = 15

DIAL_YOURSELF = "run it yourself, with NOUGHTS_SERVER and NOUGHTS_TOKEN set: it needs nobody to carry its frames"
TRY_A_MATCH = "try it in a match against `random`, which says what was wrong"
"""What to do with a program that dials in where none can."""


def check_startable(spec: "BotSpec") -> bool:
    """Whether the bot is started as a child player. Raises BotSpecError for a command that cannot be run."""
    if spec.child_kind is None:
        return False
    if not spec.child_kind.hosted:
        _check_command(spec)
    return True


def engine_options(spec: "BotSpec") -> "EngineOptions | None":
    """What the spec of an engine asks for; None for other kinds. Raises BotSpecError."""
    if spec.child_kind is None or spec.child_kind.speaks_frames:
        return None
    from noughts_server.engines.command import engine_command

    return engine_command(spec)[1]


def require_startable(spec: "BotSpec") -> "BotSpec":
    """The same for commands that only start bots. Raises BotSpecError for those that are not started."""
    from noughts_bots.errors import BotSpecError
    from noughts_proto.child_kinds import CHILD_KINDS

    if not check_startable(spec):
        advice = "reference bots need none; a registered bot plays where it is logged in"
        raise BotSpecError(f"bot {str(spec)!r}", f"kind {spec.kind}", f"one of {', '.join(CHILD_KINDS)}", advice)
    return spec


def require_frames_on_pipes(spec: "BotSpec", advice: str) -> None:
    """Raises BotSpecError for a program that dials in, where nobody is there to be dialled."""
    from noughts_bots.errors import BotSpecError
    from noughts_bots.specs import dials_in

    if dials_in(spec):
        expected = "one that plays on its standard input and output"
        raise BotSpecError(f"bot {str(spec)!r}", "a program that dials in", expected, advice)


def _check_command(spec: "BotSpec") -> None:
    from noughts_bots.errors import BotSpecError
    from noughts_bots.specs import dials_in

    dials_in(spec)  # its options are right
    engine_options(spec)
    subject = f"bot {str(spec)!r}"
    try:
        program, *_ = shlex.split(spec.target)
    except ValueError as error:
        advice = "the whole spec needs quotes of its own in a shell: 'exec:python my_bot.py'"
        raise BotSpecError(subject, f"a command with {str(error).lower()}", "one whose quotes match", advice) from error
    if shutil.which(program) is None:
        place = "written as from this folder" if "/" in program else f"in PATH, or written ./{program}"
        advice = f"is {program} installed, executable (chmod +x), and {place}?"
        raise BotSpecError(subject, f"program {program!r}", "one that can be run", advice)


def faults_document(plan: "LocalPlan", outcome: "LocalOutcome") -> dict[str, Any]:
    """`{"faults": [...]}` where bots were started as child players; else nothing."""
    return {"faults": [_document(fault) for fault in outcome.faults]} if plan.has_children else {}


def _document(fault: "LocalFault") -> dict[str, Any]:
    return {
        "bot": fault.bot,
        "reason": fault.reason,
        "times": fault.times,
        "games": fault.games,
        "benched": fault.benched,
        "stderr": fault.stderr,
    }


def show_faults(outcome: "LocalOutcome") -> None:
    """Tells people why child players ended, and the last that they wrote to stderr."""
    for fault in outcome.faults:
        times = "" if fault.times == 1 else f" ({fault.times:,} times)"
        lost = f"; {output.count(fault.games, 'game')} lost" if fault.games else ""
        output.warn(f"{fault.bot}: it {fault.reason}{times}{lost}.")
        if fault.benched:
            output.note("  It could not be started three times in a row: that lost it its remaining games.")
        for line in fault.stderr.splitlines()[-_SHOWN_LINES:]:
            output.note(f"  | {line}")
