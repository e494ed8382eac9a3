"""`noughts token`: who may talk to a server, and what for. On the database itself, or with `--server` on a server."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, TextIO

from typer import Argument, Option

from noughts_proto.transport import SERVER_VARIABLE, TOKEN_VARIABLE
from noughts_proto.v1 import tokens_pb2 as pb
from noughts_server.cli import options, output, printing
from noughts_server.cli.client import AtServer
from noughts_server.cli.database import in_database
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.former_command import command
from noughts_server.cli.times import clock, from_now, iso, milliseconds, read_duration
from noughts_server.core.resource_names import token_name

_TIMES = {
    "created": "create_time", "last_used": "last_use_time", "revoked": "revoke_time", "expires": "expire_time",
}  # fmt: skip
"""The times of a token in JSON, and the fields of the message."""
_SECRET_BYTES = 64
"""More than a secret and the end of its line."""


@dataclass(frozen=True, slots=True)
class TokensAt(AtServer):
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

    def chosen(self, database: str | None) -> "TokensAt | None":
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


@command(
    example="""
$ noughts token create --owner alice --scope play:mybot --expires 30d
...
Token 1 of alice: play:mybot, until 2026-12-25 18:13. Keep it: ...
nou_8h4RLjXoai44WiQ0VpZRxnnSnW71wQ8e
"""
)
def create(
    owner: Annotated[str | None, Option("--owner", metavar="NAME", help="Owner of the token (created if new)")] = None,
    label: Annotated[str, Option("--note", "--label", metavar="TEXT", help="Note on the purpose of the token")] = "",
    scopes: Annotated[
        list[str] | None,
        Option(
            "--scope",
            metavar="SCOPE",
            help="Rights: play, play:BOT, submit, organise, site, admin. Default: play, organise",
        ),
    ] = None,
    expires: Annotated[
        str | None, Option("--expires", metavar="DURATION", help="Lifetime, e.g. `30d` or `12h`. Default: no limit")
    ] = None,
    file: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            help="New file for the token that only you can read. Default: stdout",
            rich_help_panel="Output",
        ),
    ] = None,
    database: options.DatabaseOption = None,
    at: TokensAt = TokensAt(),
) -> None:
    """Create a token. Its secret is shown only once; the database keeps only a hash.

    On a server, the new token is yours and has at most the rights of the token you use.
    """
    life = None if expires is None else round(read_duration(expires, "--expires").total_seconds() * 1000)
    with ExitStack() as opened:
        written = None if file is None else opened.enter_context(_private_file(file))
        made, secret = _created(owner, label, scopes, life, database, at)
        if written is not None:
            written.write(f"{secret}\n")
    until = milliseconds(made, "expire_time")
    rights = f"{' '.join(made.scopes)}{'' if until is None else f', until {clock(until)}'}"
    told = f"Token {_id(made)} of {made.owner}: {rights}."
    output.hint(f"{told} Keep it: it is not shown again." if file is None else f"{told} {file} has it.")
    document = {"id": _id(made), "owner": made.owner, **({"token": secret} if file is None else {"file": str(file)})}
    # Alone on stdout, so that a shell can take it from there.
    shown = {**document, "scopes": list(made.scopes), "expires": iso(until)}
    output.show(shown, secret if file is None else lambda: None)


@contextmanager
def _private_file(path: Path) -> Iterator[TextIO]:
    """Yield a new file that only this user can read; remove it again after an error. Raises UsageProblem.

    It takes its space first, so that a full disk refuses the file before there is a token.
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


def _created(
    owner: str | None, label: str, scopes: list[str] | None, life: int | None, database: str | None, at: TokensAt
) -> tuple[pb.Token, str]:
    """Create a token on the server or in the database; return it and its secret."""
    if (server := at.chosen(database)) is not None:
        request = pb.CreateTokenRequest(token=pb.Token(owner=owner or "", label=label, scopes=scopes))
        if life is not None:
            request.ttl.FromMilliseconds(life)
        with server.connected() as client:
            answer = client.call(client.tokens.CreateToken, request)
        return answer.token, answer.secret
    if owner is None:
        raise UsageProblem("--owner: got none, expected the owner of the token", "For example: --owner alice")
    from noughts_server.services.new_tokens import check_scopes, check_token
    from noughts_server.services.tokens import token_message
    from noughts_server.store.people import tokens
    from noughts_server.store.validation import check_name

    # A refused owner must not leave a new database.
    check_name("owner", owner)
    check_token(label, life)
    permitted = check_scopes(scopes or [])
    make = partial(tokens.create_token, owner=owner, label=label, scopes=permitted, life_ms=life)
    stored = in_database(database, lambda store: store.write(partial(make, now_ms=store.now_ms())), create=True)
    return token_message(stored.token), stored.secret


@command(
    example="""
$ noughts token list
id  owner ... scopes      created  last used  state
...
 1  alice         play:mybot  ...  -          expires in 30 days
"""
)
def list_tokens(database: options.DatabaseOption = None, at: TokensAt = TokensAt()) -> None:
    """List tokens without their secrets. A server lists only your own, or all with scope `admin`."""
    if (server := at.chosen(database)) is not None:
        with server.connected() as client:
            found = list(client.each(client.tokens.ListTokens, pb.ListTokensRequest(), lambda page: page.tokens))
    else:
        from noughts_server.services.tokens import token_message
        from noughts_server.store.people import tokens

        found = list(map(token_message, in_database(database, lambda store: store.read(tokens.list_tokens))))
    columns = (">id", "owner", "label", "scopes", "created", "last used", "state")
    rows = [
        (_id(row), row.owner, row.label, " ".join(row.scopes), *_ago(row, "create_time", "last_use_time"), _state(row))
        for row in found
    ]
    hint = "No tokens yet. Create one: noughts token create --owner NAME"
    output.show_rows({"tokens": list(map(_document, found))}, columns, rows, hint)


@command(
    example="""
$ noughts token revoke 1
Token 1 of alice is revoked.
"""
)
def revoke(
    identifier: Annotated[int, Argument(metavar="ID", help="Number of the token in `noughts token list`")],
    database: options.DatabaseOption = None,
    at: TokensAt = TokensAt(),
) -> None:
    """Revoke a token. Bots that are logged in with it are disconnected within 1 s and lose their games."""
    if (server := at.chosen(database)) is not None:
        with server.connected() as client:
            request = pb.RevokeTokenRequest(name=token_name(identifier))
            revoked = client.call(client.tokens.RevokeToken, request).token
    else:
        from noughts_server.services.tokens import token_message
        from noughts_server.store.people import tokens

        revoke = partial(tokens.revoke_token, token_id=identifier)
        stored = in_database(database, lambda store: store.write(partial(revoke, now_ms=store.now_ms())))
        revoked = token_message(stored)
    output.show(_document(revoked), f"Token {_id(revoked)} of {revoked.owner} is revoked.")


def _id(row: pb.Token) -> int:
    return int(row.name.rpartition("/")[2])


def _document(row: pb.Token) -> dict[str, object]:
    return {
        "id": _id(row),
        **printing.picked(row, "owner", "label"),
        "scopes": list(row.scopes),
        **{key: iso(milliseconds(row, name)) for key, name in _TIMES.items()},
    }


def _ago(row: pb.Token, *names: str) -> Iterator[str]:
    for name in names:
        moment = milliseconds(row, name)
        yield "-" if moment is None else from_now(moment)


def _state(row: pb.Token) -> str:
    revoked, expires = (milliseconds(row, name) for name in ("revoke_time", "expire_time"))
    if revoked is not None:
        return f"revoked {from_now(revoked)}"
    if expires is None:
        return "good"
    told = from_now(expires)
    return f"expired {told}" if told.endswith("ago") else f"expires {told}"
