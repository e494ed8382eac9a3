"""Options whose values begin with the label of a bot."""

from collections.abc import Sequence

from noughts_server.cli.errors import UsageProblem


def by_label(texts: list[str] | None, option: str, expected: str, labels: Sequence[str] | None) -> dict[str, str]:
    """The values of an option that is given for single bots. Raises UsageProblem, also for a bot that is not there."""
    own: dict[str, str] = {}
    for text in texts or ():
        # Labels may have a `=` of their own (`nextstep:depth=3`), values have none.
        label, _, own_value = text.rpartition("=")
        if not label:
            raise UsageProblem(f"{option} {text!r}: expected {expected}")
        if labels is not None and label not in labels:
            raise UsageProblem(
                f"{option} {text!r}: unknown bot {label!r}, expected one of {', '.join(labels)}",
                "Name a bot with LABEL=SPEC.",
            )
        if label in own:
            raise UsageProblem(f"{option} {text!r}: got {label!r} twice, expected each bot once")
        own[label] = own_value
    return own
