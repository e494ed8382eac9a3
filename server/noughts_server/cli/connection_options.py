"""Encryption for commands that are not in `commands/` yet: a variable of the context."""

from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_server.cli.connection import read_address as read_address
from noughts_server.cli.connection import read_server as read_server
from noughts_server.cli.connection import read_token as read_token
from noughts_server.cli.connection import require_token as require_token

if TYPE_CHECKING:
    from noughts_proto.security import Dialling


@dataclass(frozen=True, slots=True)
class Encryption:
    """How a connection is protected: options of every command that calls a server."""

    tls: Annotated[
        bool,
        Option("--tls", help="Encrypt; trust the certificate authorities of this system", rich_help_panel="Connection"),
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
        bool, Option("--insecure", help="Send the token to another machine unencrypted", rich_help_panel="Connection")
    ] = False


ENCRYPTION: ContextVar[Encryption] = ContextVar("ENCRYPTION", default=Encryption())  # noqa: B039  # immutable
"""What `dialling` goes by."""


def dialling(address: str, token: str) -> "Dialling":
    """How to connect to the server by the options; a token that could be read on the way is a SecurityProblem."""
    from noughts_proto.security import dialling_from_environment

    asked = ENCRYPTION.get()
    chosen = dialling_from_environment(tls=asked.tls, ca=asked.tls_ca, insecure=asked.insecure)
    chosen.check(address, token)
    return chosen
