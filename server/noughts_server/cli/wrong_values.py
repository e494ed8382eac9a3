"""Messages about values that an option or argument cannot have."""

from typing import Any


def wrong_value(error: Any) -> str:
    """Return the message of an error that typer raised about a command line.

    typer reports a value of a wrong type with the text of its validation library, which users do not know. The message
    names the option, the value and what the option expects.
    """
    message: str = error.format_message()
    cause = error.__cause__
    if not hasattr(cause, "errors"):
        return message
    detail = cause.errors(include_url=False)[0]
    expected = _expected(detail, error.param)
    subject, separator, _ = message.partition(": ")
    return f"{subject}: {expected}" if separator else expected


def _expected(detail: dict[str, Any], parameter: Any) -> str:
    """Return what was wrong with a value, from the details of the validation."""
    kind: str = detail["type"]
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind.startswith("bool"):
        expected_value = "true or false"
    elif kind.startswith(("int", "float", "finite_number", "greater_than", "less_than")):
        is_whole = "int" in str(parameter.type_descriptor.annotation)
        expected_value = (
            f"{'a whole number' if is_whole else 'a number'}{_range(parameter.type_descriptor.parameter_info)}"
        )
    else:
        return f"got {detail['input']!r}: {detail['msg']}"
    return f"got {detail['input']!r}, expected {expected_value}"


def _range(info: Any) -> str:
    """Return the range of an option as text; empty without limits."""
    if info.min is not None and info.max is not None:
        return f" from {info.min:,} to {info.max:,}"
    if info.min is not None:
        return f" of {info.min:,} or more"
    return "" if info.max is None else f" of at most {info.max:,}"
