"""Options for the kinds of submitted bots that a server, a referee or a course runs."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.extras import has_extra, require_extra

if TYPE_CHECKING:
    from noughts_server.hosting.submitted import Acceptance

PythonPackagesOption = Annotated[
    str,
    Option(
        "--python-packages",
        metavar="NAMES",
        help="Packages that submitted Python bots can import, e.g. numpy",
    ),
]


def read_acceptance(command: str, accept: str | None, packages: str) -> "Acceptance | None":
    """Return which bots `command` accepts by `--accept` and `--python-packages`; None: none.

    Raises UsageProblem, and Problem for a kind whose extra is not installed.
    """
    kinds = tuple(dict.fromkeys(filter(None, (part.strip() for part in (accept or "").split(",")))))
    if accept is None:
        kinds = ("wasm",) if has_extra("wasm") else ()
    elif kinds == ("none",):
        kinds = ()
    elif not kinds or not set(kinds) <= {"wasm", "py"}:
        raise UsageProblem(f"--accept {accept!r}: expected wasm, py, both separated by a comma, or none")
    names = tuple(filter(None, (part.strip() for part in packages.split(","))))
    if names and "py" not in kinds:
        raise UsageProblem("--python-packages: requires --accept py, because only Python bots import packages")
    if missing := [name for name in names if not name.isidentifier() or find_spec(name) is None]:
        raise UsageProblem(
            f"--python-packages: got {', '.join(missing)}, expected import names of packages that are installed on "
            "this machine",
            "Install them into the Python environment of this command, or leave them out.",
        )
    if accept is not None and "wasm" in kinds:
        require_extra(f"{command} --accept wasm", "wasm")
    if not kinds:
        return None
    from noughts_server.hosting.submitted import Acceptance

    return Acceptance(kinds, names)
