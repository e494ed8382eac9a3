"""Common code of the commands of `noughts token`."""

import os
from dataclasses import dataclass
from typing import Annotated

from typer import Option

from noughts_proto.transport import SERVER_VARIABLE, TOKEN_VARIABLE
from noughts_proto.v1 import tokens_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.times import iso, milliseconds


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

    def chosen(self, database: str | None) -> "TokenServerOptions | None":
        """Return the server to ask; None means the database. Raises UsageProblem if the options name both.

        Without a token nobody can ask the server of the environment, so the first token is made in the database.
        """
        if database is not None and self.server is not None:
            raise UsageProblem("--db and --server: got both, expected one of them")
        can_ask = self.token or self.token_file or os.environ.get(TOKEN_VARIABLE)
        server = self.server or (os.environ.get(SERVER_VARIABLE) if database is None else None) or None
        if server and not self.server and not can_ask:
            printing.note(f"{SERVER_VARIABLE} is set, but there is no token: using the database on this machine.")
            server = None
        return None if server is None else self


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
