"""Addresses of servers and tokens, as users write them."""

import os
from pathlib import Path

from noughts_proto.transport import DEFAULT_SERVER, SERVER_VARIABLE, TOKEN_VARIABLE, addresses_of
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.printing import warn

NO_TOKEN = (
    "token: got none, expected one in NOUGHTS_TOKEN, --token-file or --token",
    "The server's operator can create one: noughts token create --owner NAME",
)
"""The message and the hint of a call that needs a token and has none."""


def read_address(text: str, option: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, in which an IPv6 address has brackets. Raises UsageProblem."""
    host, _, port = text.rpartition(":")
    has_brackets = host.startswith("[") and host.endswith("]")
    is_plain = bool(host) and not set(host) & set("[]/: @")
    if not (has_brackets or is_plain) or not (port.isascii() and port.isdigit() and int(port) < 65_536):
        raise UsageProblem(
            f"{option} {text!r}: expected HOST:PORT with a port up to 65535, e.g. {DEFAULT_SERVER}",
            "Leave out the scheme." if "//" in text else "",
        )
    return host.strip("[]"), int(port)


def read_server(server: str | None) -> str:
    """Return the address to call, or several: that of the option, of the environment, or the default."""
    from_environment = os.environ.get(SERVER_VARIABLE)
    # In commands with a configuration file, `server` can come from the variable: typer reads it. Errors then name the
    # variable.
    option = SERVER_VARIABLE if server in (None, from_environment) else "--server"
    if server is None:
        server = from_environment or DEFAULT_SERVER
    for address in addresses_of(server):
        read_address(address, option)
    return server


def read_token(
    token: str | None, token_file: Path | None, source: str = "--token", file_option: str = "--token-file"
) -> str:
    """Return the token to call with; empty if none is given. `source` names the origin of `token` in errors."""
    if token is not None:
        if source == "--token":
            warn(f"the token is visible to others in the process list; set {TOKEN_VARIABLE} or use --token-file.")
        return _check_token(token, source)
    if token_file is not None:
        option = f"{file_option} {token_file}"
        with problems_with(option, OSError):
            text = token_file.read_text(encoding="utf-8", errors="replace")
        return _check_token(text.partition("\n")[0], option)
    return _check_token(os.environ.get(TOKEN_VARIABLE, ""), TOKEN_VARIABLE, can_be_empty=True)


def require_token(token: str | None, token_file: Path | None, source: str = "--token") -> str:
    """Return the token to call with. Raises UsageProblem if none is given."""
    secret = read_token(token, token_file, source)
    if not secret:
        raise UsageProblem(*NO_TOKEN)
    return secret


def _check_token(token: str, source: str, *, can_be_empty: bool = False) -> str:
    """Return the token without surrounding spaces. Raises UsageProblem for a text that cannot be a token."""
    # Errors never contain the token, not even a wrong one.
    token = token.strip()
    if not (token.isascii() and token.isprintable() and " " not in token) or not (token or can_be_empty):
        raise UsageProblem(f"{source}: expected a token, one line as `noughts token create` prints it")
    return token
