"""Options for the server that a command calls: its address, the token and encryption."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from grpc import StatusCode
from typer import Option

from noughts_proto.security import Dialling, dialling_from_environment
from noughts_server.cli.connection import read_server, read_token, require_token

if TYPE_CHECKING:
    from noughts_server.client.client import Client

HINTS = {
    StatusCode.UNAVAILABLE: "Is it running (noughts serve)? Check --server.",
    StatusCode.DEADLINE_EXCEEDED: "Try again, or check its log.",
    StatusCode.UNIMPLEMENTED: "Is it a Noughts server of this version?",
}
"""Advice about failed calls, if the server sends no advice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressOptions:
    """The options of a command that calls a server, with the token of the environment, if any."""

    server: Annotated[
        str | None,
        Option(
            "--server",
            metavar="HOST:PORT[,...]",
            help="Server addresses, tried in order. Default: NOUGHTS_SERVER or 127.0.0.1:7450",
            rich_help_panel="Connection",
        ),
    ] = None
    tls: Annotated[
        bool,
        Option(
            "--tls",
            help="Encrypt; trust the certificate authorities of this system",
            rich_help_panel="Connection",
        ),
    ] = False
    tls_ca: Annotated[
        Path | None,
        Option(
            "--tls-ca",
            metavar="FILE",
            help="Encrypt; trust the authorities in this PEM file. Default: NOUGHTS_TLS_CA",
            rich_help_panel="Connection",
        ),
    ] = None
    insecure: Annotated[
        bool,
        Option(
            "--insecure",
            help="Send the token to another machine unencrypted",
            rich_help_panel="Connection",
        ),
    ] = False

    @property
    def address(self) -> str:
        """Return the address to call, or several separated by commas. Raise UsageProblem."""
        return read_server(self.server)

    def read_token(self, *, token_needed: bool = False) -> str:
        """Return the token to call with, which can be empty unless it is needed. Raises UsageProblem."""
        return _read_token(None, None, token_needed=token_needed)

    def dialling(self, token: str) -> Dialling:
        """Return how to connect. Raises SecurityProblem if others could read the token in transit."""
        dialling = dialling_from_environment(tls=self.tls, ca=self.tls_ca, insecure=self.insecure)
        dialling.check(self.address, token)
        return dialling

    def connected(self, *, token_needed: bool = False) -> AbstractContextManager["Client"]:
        """Yield a client of the server. Raises UsageProblem for a token that is missing."""
        return self.connected_with(self.read_token(token_needed=token_needed))

    def connected_with(self, token: str) -> AbstractContextManager["Client"]:
        """Yield a client of the server that calls it with this token."""
        # Import late: `noughts bot run` has these options, but its bots connect without this client.
        from noughts_server.client import client

        return client.connected(self.address, token, self.dialling(token), HINTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions(AddressOptions):
    """The options of a command that calls a server, with the token as an option."""

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
        Option(
            "--token-file",
            metavar="FILE",
            help="File that contains the token",
            rich_help_panel="Connection",
        ),
    ] = None

    def read_token(self, *, token_needed: bool = False) -> str:
        return _read_token(self.token, self.token_file, token_needed=token_needed)


def _read_token(token: str | None, token_file: Path | None, *, token_needed: bool) -> str:
    return require_token(token, token_file) if token_needed else read_token(token, token_file)
