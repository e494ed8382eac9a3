"""`noughts token`: who may talk to the server. Works on the database itself, for the operator of the machine."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from noughts_server.cli import options, output
from noughts_server.cli.commands import command, group
from noughts_server.cli.output import Format

if TYPE_CHECKING:
    from noughts_server.store.database import Store
    from noughts_server.store.tokens import Token

token = group("Tokens: who may run bots and organise tournaments. For the operator, on the server's machine.")


@command(
    token,
    "create",
    "noughts token create --owner alice",
    "NOUGHTS_TOKEN=$(noughts token create --owner alice) noughts bot run minimax",
)
def create(
    owner: Annotated[str, typer.Option("--owner", metavar="NAME", help="Whose token it is; made if new.")],
    label: Annotated[str, typer.Option("--label", help="What it is for.")] = "",
    database: options.DatabaseOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Makes a token. Its secret is shown this once; the database keeps only a hash.

    JSON: {"id", "owner", "token"}.
    """
    from noughts_server.cli.database import in_database
    from noughts_server.store import tokens

    def make(store: "Store") -> "Callable[..., tokens.NewToken]":
        return lambda connection: tokens.create_token(connection, owner=owner, label=label, now_ms=store.now_ms())

    made, secret = in_database(database, lambda store: store.write(make(store)))
    if output_format is Format.JSON:
        output.print_json({"id": made.id, "owner": made.owner, "token": secret})
        return
    output.note(f"Token {made.id} of {made.owner}. Keep it: it is not shown again.")
    # Alone on stdout, so that a shell can take it from there.
    typer.echo(secret)


@command(token, "list", "noughts token list")
def list_tokens(database: options.DatabaseOption = None, output_format: options.FormatOption = Format.TEXT) -> None:
    """All tokens, without their secrets.

    JSON: {"tokens": [{"id", "owner", "label", "created", "last_used", "revoked"}]}; times in ISO 8601, or null.
    """
    from noughts_server.cli.database import in_database
    from noughts_server.store import tokens

    found = in_database(database, lambda store: store.read(tokens.list_tokens))
    if output_format is Format.JSON:
        output.print_json({"tokens": [_document(row) for row in found]})
        return
    columns = (">id", "owner", "label", "created", "last used", "revoked")
    rows = [
        (row.id, row.owner, row.label, *(_day(moment) for moment in (row.created_at, row.last_used_at, row.revoked_at)))
        for row in found
    ]
    hint = "No tokens yet. Make one: noughts token create --owner NAME"
    output.stdout().print(output.table(columns, rows) if rows else hint)


@command(token, "revoke", "noughts token revoke 3")
def revoke(
    identifier: Annotated[int, typer.Argument(metavar="ID", help="Its number in `noughts token list`.")],
    database: options.DatabaseOption = None,
    output_format: options.FormatOption = Format.TEXT,
) -> None:
    """Makes a token worthless from now on.

    JSON: as an element of list.
    """
    from noughts_server.cli.database import in_database
    from noughts_server.store import tokens

    def end(store: "Store") -> "Callable[..., Token]":
        return lambda connection: tokens.revoke_token(connection, identifier, now_ms=store.now_ms())

    revoked = in_database(database, lambda store: store.write(end(store)))
    if output_format is Format.JSON:
        output.print_json(_document(revoked))
    else:
        output.stdout().print(f"Token {revoked.id} of {revoked.owner} is revoked.")


def _document(row: "Token") -> dict[str, object]:
    return {
        "id": row.id,
        "owner": row.owner,
        "label": row.label,
        "created": _moment(row.created_at),
        "last_used": _moment(row.last_used_at),
        "revoked": _moment(row.revoked_at),
    }


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def _day(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d}"
