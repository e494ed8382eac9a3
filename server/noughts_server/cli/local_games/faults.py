"""Faults of bots in games on this machine, as JSON and as text."""

from typing import Any

from noughts_bots.reference.specs import BotSpec, connects_itself, unique_labels
from noughts_server.cli import printing
from noughts_server.cli.errors import FAILED
from noughts_server.cli.options.game import USUAL_VARIANT
from noughts_server.local.plan import TOO_SLOW, LocalFault, LocalOutcome, LocalPlan

_MOST_OUTPUT_LINES = 20


def faults_document(plan: LocalPlan, outcome: LocalOutcome) -> dict[str, Any]:
    """Return `{"faults": [...]}`: one for each distinct fault of each bot, in order of first occurrence."""
    specs = _specs(plan)
    return {"faults": [_document(fault, specs[fault.bot]) for fault in outcome.faults]}


def _specs(plan: LocalPlan) -> dict[str, BotSpec]:
    return dict(zip(unique_labels(plan.specs), plan.specs, strict=True))


def _document(fault: LocalFault, spec: BotSpec) -> dict[str, Any]:
    first = None
    if (game := fault.first) is not None:
        first = {
            "game": game.ordinal,
            "ply": game.ply,
            "variant": game.variant,
            "side": game.side,
            "reason": game.details or fault.reason,
        }
    return {
        "bot": fault.bot,
        "reason": fault.reason,
        "times": fault.times,
        "games": fault.games,
        "benched": fault.disabled,
        "first": first,
        "advice": _advice(fault, spec),
        "stderr": fault.stderr,
    }


def show_faults(plan: LocalPlan, outcome: LocalOutcome) -> None:
    """Print each fault: the bot, the first game, the number of games, advice, the last lines on stderr."""
    specs = _specs(plan)
    for fault in outcome.faults:
        times = "" if fault.times == 1 else f" ({fault.times:,} times)"
        lost_games = f"; {printing.count(fault.games, 'game')} lost" if fault.games else ""
        printing.warn(f"{fault.bot}: it {fault.reason}{times}{lost_games}.")
        if (first := fault.first) is not None:
            detail = f": it {first.details}" if first.details else ""
            moves = f", after {list(first.moves)}" if first.moves else ""
            place = f"game {first.ordinal} at ply {first.ply} ({first.variant}, moving {first.side}){moves}"
            printing.note(f"  First in {place}{detail}.")
        if fault.disabled:
            printing.note("  It failed to start three times in a row, so it lost its remaining games.")
        if advice := _advice(fault, specs[fault.bot]):
            printing.note(f"  {advice}")
        for line in fault.stderr.splitlines()[-_MOST_OUTPUT_LINES:]:
            printing.note(f"  | {line}")


def _advice(fault: LocalFault, spec: BotSpec) -> str:
    """Return advice about the fault; empty without any."""
    if fault.reason == TOO_SLOW:
        return "Give it more time (--time) or less work, or a larger --margin on a busy machine."
    if spec.child_kind is None or connects_itself(spec):
        return ""
    variant = f" --variant {fault.first.variant}" if fault.first and fault.first.variant != USUAL_VARIANT else ""
    return f"Try it alone: noughts bot check '{spec}'{variant}"


def exit_if_disabled(outcome: LocalOutcome) -> None:
    """End the program with exit code 1 if a bot could not be started. Call it after printing the result."""
    if outcome.disabled:
        raise SystemExit(FAILED)
