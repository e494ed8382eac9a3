"""Which server a command calls, and what failed calls mean on the command line."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from grpc import StatusCode
from typer import Option

from noughts_proto.security import Dialling
from noughts_server.cli import connection_options
from noughts_server.client import client
from noughts_server.client.client import Client

HINTS = {
    StatusCode.UNAVAILABLE: "Is it running (noughts serve)? Check --server.",
    StatusCode.DEADLINE_EXCEEDED: "Try again, or check its log.",
    StatusCode.UNIMPLEMENTED: "Is it a Noughts server of this version?",
}


@dataclass(frozen=True, slots=True)
class AtServer:
    """The options of a command that calls a server."""

    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None
    token: Annotated[
        str | None,
        Option(
            "--token",
            metavar="TOKEN",
            help="Your token, visible to all local users; NOUGHTS_TOKEN or a file is safer",
            rich_help_panel="Connection",
        ),
    ] = None
    token_file: Annotated[
        Path | None,
        Option("--token-file", metavar="FILE", help="File that contains the token", rich_help_panel="Connection"),
    ] = None

    def connected(self, *, token_needed: bool = False) -> AbstractContextManager[Client]:
        """Yield a client of the server that the options name. Raises UsageProblem for a token that is missing."""
        read = connection_options.require_token if token_needed else connection_options.read_token
        return _connected(self.server, read(self.token, self.token_file))


def connected(
    server: str | None, token_file: Path | None = None, *, dialling: Dialling | None = None
) -> AbstractContextManager[Client]:
    """Yield a client of a server, with the token of the file or the environment.

    The options of the command say how to connect, unless `dialling` does.
    """
    return _connected(server, connection_options.read_token(None, token_file), dialling)


def _connected(server: str | None, token: str, dialling: Dialling | None = None) -> AbstractContextManager[Client]:
    address = connection_options.read_server(server)
    return client.connected(address, token, dialling or connection_options.dialling(address, token), HINTS)
