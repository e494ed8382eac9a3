"""The command `noughts token create`."""

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Option

from noughts_proto.v1 import tokens_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.token.tokens import TokenServerOptions, private_file, token_id
from noughts_server.cli.database import in_database
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.times import clock, iso, milliseconds, read_duration


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
    database: DatabaseOption = None,
    *,
    server: TokenServerOptions,
    output: OutputOptions,
) -> None:
    """Create a token. Its secret is shown only once; the database keeps only a hash.

    On a server, the new token is yours and has at most the rights of the token you use.
    """
    lifetime_ms = None if expires is None else round(read_duration(expires, "--expires").total_seconds() * 1000)
    with ExitStack() as stack:
        token_file = None if file is None else stack.enter_context(private_file(file))
        token, secret = _create(owner, label, scopes, lifetime_ms, database, server)
        if token_file is not None:
            token_file.write(f"{secret}\n")
    expire_ms = milliseconds(token.expire_time)
    rights = f"{' '.join(token.scopes)}{'' if expire_ms is None else f', until {clock(expire_ms)}'}"
    summary = f"Token {token_id(token)} of {token.owner}: {rights}."
    output.hint(f"{summary} Keep it: it is not shown again." if file is None else f"{summary} {file} has it.")
    document: dict[str, object] = {"id": token_id(token), "owner": token.owner}
    if file is None:
        document["token"] = secret
    else:
        document["file"] = str(file)
    document |= {"scopes": list(token.scopes), "expires": iso(expire_ms)}
    # Only the secret goes to stdout, so that a shell script can read it.
    output.show(document, secret if file is None else lambda: None)


def _create(
    owner: str | None,
    label: str,
    scopes: list[str] | None,
    lifetime_ms: int | None,
    database: str | None,
    server: TokenServerOptions,
) -> tuple[pb.Token, str]:
    """Create a token on the server or in the database; return it and its secret."""
    if (chosen_server := server.for_tokens(database)) is not None:
        request = pb.CreateTokenRequest(token=pb.Token(owner=owner or "", label=label, scopes=scopes))
        if lifetime_ms is not None:
            request.ttl.FromMilliseconds(lifetime_ms)
        with chosen_server.connected() as client:
            response = client.call(client.tokens.CreateToken, request)
        return response.token, response.secret
    if owner is None:
        raise UsageProblem("--owner: got none, expected the owner of the token", "For example: --owner alice")
    from noughts_server.convert.tokens import token_message
    from noughts_server.services.new_tokens import check_scopes, check_token
    from noughts_server.store.people import tokens
    from noughts_server.store.validation import check_name

    # A refused owner must not leave a new database.
    check_name("owner", owner)
    check_token(label, lifetime_ms)
    permitted = check_scopes(scopes or [])
    make = partial(tokens.create_token, owner=owner, label=label, scopes=permitted, lifetime_ms=lifetime_ms)
    stored = in_database(database, lambda store: store.write(partial(make, now_ms=store.now_ms())), create=True)
    return token_message(stored.token), stored.secret
