"""Common code of the commands of `noughts token`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TextIO

from typer import Option

from noughts_proto.transport import SERVER_VARIABLE, TOKEN_VARIABLE
from noughts_proto.v1 import tokens_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.times import iso, milliseconds

_SECRET_BYTES = 64
"""The size of the file before its secret is known; a secret and its line end are never longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenServerOptions(ServerOptions):
    """Where tokens are kept: in a database, or on a server."""

    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server to use with your token. Default: --db, else NOUGHTS_SERVER",
            rich_help_panel="Connection",
        ),
    ] = None

    def for_tokens(self, database: str | None) -> "TokenServerOptions | None":
        """Return the options of the server that has the tokens; None means the database.

        A server needs a token. Without one, NOUGHTS_SERVER is ignored, so that you can create the first token in the
        database. Raises UsageProblem if the options name both.
        """
        if database is not None and self.server is not None:
            raise UsageProblem("--db and --server: got both, expected one of them")
        if self.server:
            return self
        if database is not None or not os.environ.get(SERVER_VARIABLE):
            return None
        if not (self.token or self.token_file or os.environ.get(TOKEN_VARIABLE)):
            printing.note(f"{SERVER_VARIABLE} is set, but there is no token: using the database on this machine.")
            return None
        return self


def token_id(row: pb.Token) -> int:
    return int(row.name.rpartition("/")[2])


def document_of(row: pb.Token) -> dict[str, object]:
    return {
        "id": token_id(row),
        "owner": row.owner,
        "label": row.label,
        "scopes": list(row.scopes),
        "created": iso(milliseconds(row.create_time)),
        "last_used": iso(milliseconds(row.last_use_time)),
        "revoked": iso(milliseconds(row.revoke_time)),
        "expires": iso(milliseconds(row.expire_time)),
    }


@contextmanager
def private_file(path: Path) -> Iterator[TextIO]:
    """Yield a new file that only this user can read; delete it after an error. Raises UsageProblem.

    The file gets its full size first, so that a full disk causes an error before there is a token.
    """
    with problems_with(f"--output {path}", OSError, hint="Choose a new file."):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            with problems_with(f"--output {path}", OSError, hint="Free some space on that disk, or choose another."):
                os.write(descriptor, b" " * _SECRET_BYTES)
                os.lseek(descriptor, 0, os.SEEK_SET)
            yield file
            file.truncate()
    except BaseException:
        path.unlink(missing_ok=True)
        raise
