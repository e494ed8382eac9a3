"""The command line in this process."""

from collections.abc import Mapping, Sequence

from typer.testing import CliRunner, Result

from noughts_server.cli.tree import TREE
from noughts_server.cli.typer_parser import typer_app


def invoked(
    words: Sequence[str], *, code: int = 0, stdin: str | None = None, env: Mapping[str, str | None] | None = None
) -> Result:
    """What `noughts` with these words says; the test fails unless it exits with `code`. `env`: changed variables."""
    path, _, _ = TREE.find(words)
    result = CliRunner().invoke(typer_app(TREE, path), words, input=stdin, env=env, prog_name="noughts")
    assert result.exit_code == code, f"{words}: {result.exit_code}\n{result.stdout}\n{result.stderr}"
    return result
