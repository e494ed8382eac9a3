"""Ratings that are held in a fit: `--anchor NAME=RATING`."""

from noughts_server.cli.errors import UsageProblem

_LARGEST_RATING = 100_000


def read_anchors(texts: list[str] | None) -> dict[str, float]:
    """The ratings written as `NAME=RATING`, by name. Raises UsageProblem."""
    anchors: dict[str, float] = {}
    for text in texts or ():
        name, _, rating = text.rpartition("=")
        try:
            value = float(rating)
        except ValueError:
            value = float("nan")
        if not name or not abs(value) <= _LARGEST_RATING:
            raise UsageProblem(f"--anchor {text!r}: expected NAME=RATING, e.g. `minimax=2000`")
        if name in anchors:
            raise UsageProblem(f"--anchor {text!r}: got {name!r} twice, expected each bot once")
        anchors[name] = value
    return anchors
