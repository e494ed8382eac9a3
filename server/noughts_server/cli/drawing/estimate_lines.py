"""Statistics of a match in words: the Elo estimate and the state of an SPRT."""

from noughts_server.statistics.estimate import Estimate
from noughts_server.statistics.sprt import SprtState


def elo_line(first: str, estimate: Estimate, *, pairs: bool = False) -> str:
    """Return e.g. `Elo difference: +89 ± 70 (95 %) ...` for the bot `first`; `pairs`: the estimate counts pairs."""
    return f"Elo difference: {_difference(first, estimate, 'pair' if pairs else 'game')}"


def _difference(first: str, estimate: Estimate, unit: str) -> str:
    if estimate.score is None:
        return "unknown: no game has a result"
    if estimate.value is None:
        has_won_all = estimate.score == 1
        verb = "won" if has_won_all else "lost"
        bound = "at least +" if has_won_all else "at most -"
        if estimate.at_least is None:
            return f"unknown: {first} {verb} every game, and there are too few games for a bound"
        return f"{bound}{estimate.at_least:.0f} (95 %): {first} {verb} every game"
    likelihood = ""
    if estimate.los is not None:
        likelihood = f" with a likelihood of {estimate.los:.1%} that {first} is stronger"
    if estimate.error95:
        return f"{estimate.value:+.0f} ± {estimate.error95:.0f} (95 %){likelihood}"
    if estimate.los is None:
        return f"0; no confidence interval: every {unit} was tied"
    return f"{estimate.value:+.0f}{likelihood}; too few games for a confidence interval"


def normalized_text(estimate: Estimate) -> str:
    """Return e.g. `+34 ± 15`, or `-` if it is unknown."""
    return difference_text(estimate.normalized, estimate.normalized_error95)


def difference_text(value: float | None, error95: float | None) -> str:
    """Return e.g. `+34 ± 15` for a difference and half the width of its interval; `-` for an unknown difference."""
    if value is None:
        return "-"
    return f"{value:+.0f}" if error95 is None else f"{value:+.0f} ± {error95:.0f}"


def llr_text(state: SprtState) -> str:
    """Return e.g. `LLR 1.38 (-2.94 to 2.94)`."""
    return f"LLR {state.llr:.2f} ({state.lower:.2f} to {state.upper:.2f})"


def decision_text(state: SprtState) -> str:
    """Return the decision of an SPRT in words."""
    return {"H0": "H0 accepted", "H1": "H1 accepted", "continue": "not decided yet"}[state.decision]
