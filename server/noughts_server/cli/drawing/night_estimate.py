"""The expected games and duration of a night of a course."""

from noughts_server.cli import printing
from noughts_server.cli.times import length
from noughts_server.leagues.nights import NightEstimate


def estimate_wording(estimate: NightEstimate) -> str:
    """Return e.g. `12 bots, 660 games, about 9 min (as fast as the last night)`."""
    if not estimate.games:
        return "fewer than two bots"
    seconds = length(max(1, estimate.seconds))
    duration = {
        "night": f"about {seconds} (as fast as the last night)",
        "limits": f"at most about {seconds} (if all moves take all their time)",
        "assumption": f"about {seconds} (if a move takes 1 ms)",
    }[estimate.basis]
    return f"{printing.count(estimate.bots, 'bot')}, {printing.count(estimate.games, 'game')}, {duration}"


def estimate_document(estimate: NightEstimate) -> dict[str, object]:
    """Return the estimate as JSON."""
    return {
        "bots": estimate.bots,
        "games": estimate.games,
        "eta_seconds": estimate.seconds,
        "eta_basis": estimate.basis,
    }
