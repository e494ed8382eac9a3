"""Options whose values begin with the label of a bot."""

from collections.abc import Sequence

from noughts_server.cli.errors import UsageProblem


def by_label(texts: list[str] | None, option: str, expected: str, labels: Sequence[str] | None) -> dict[str, str]:
    """Return the values of `LABEL=VALUE` texts, by label. Raises UsageProblem, also for a label not in `labels`."""
    values: dict[str, str] = {}
    for text in texts or ():
        # Labels can contain `=` (`nextstep:depth=3`), values cannot.
        label, _, value = text.rpartition("=")
        if not label:
            raise UsageProblem(f"{option} {text!r}: expected {expected}")
        if labels is not None and label not in labels:
            raise UsageProblem(
                f"{option} {text!r}: unknown bot {label!r}, expected one of {', '.join(labels)}",
                "Name a bot with LABEL=SPEC.",
            )
        if label in values:
            raise UsageProblem(f"{option} {text!r}: got {label!r} twice, expected each bot once")
        values[label] = value
    return values
