"""Bots that the referee starts itself, on the command line: what is checked before, and what is told of them after."""

import shlex
import shutil
from typing import TYPE_CHECKING, Any

from noughts_server.cli import output

if TYPE_CHECKING:
    from noughts_bots.specs import BotSpec
    from noughts_server.local import LocalFault, LocalOutcome, LocalPlan

_STARTED = ("py", "dll", "exec", "gomocup")
_SHOWN_LINES = 15


def check_startable(spec: "BotSpec") -> bool:
    """Whether the bot is started as a child player. Raises BotSpecError for a command that cannot be run."""
    if spec.kind not in _STARTED:
        return False
    if spec.kind == "exec":
        _check_command(spec)
    return True


def check_relayed(spec: "BotSpec") -> None:
    """Raises BotSpecError for a program that dials in: to a server elsewhere it can do so without us."""
    from noughts_bots.errors import BotSpecError
    from noughts_bots.specs import dials_in

    if dials_in(spec):
        expected = "one that plays on its standard input and output"
        advice = "run it yourself, with NOUGHTS_SERVER and NOUGHTS_TOKEN set: it needs nobody to carry its frames"
        raise BotSpecError(f"bot {str(spec)!r}", "a program that dials in", expected, advice)


def _check_command(spec: "BotSpec") -> None:
    from noughts_bots.errors import BotSpecError
    from noughts_bots.specs import dials_in

    dials_in(spec)  # its options are right
    subject = f"bot {str(spec)!r}"
    try:
        program, *_ = shlex.split(spec.target)
    except ValueError as error:
        advice = "the whole spec needs quotes of its own in a shell: 'exec:python my_bot.py'"
        raise BotSpecError(subject, f"a command with {str(error).lower()}", "one whose quotes match", advice) from error
    if shutil.which(program) is None:
        advice = f"is {program} installed, executable (chmod +x), and written as from this folder (./{program})?"
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
