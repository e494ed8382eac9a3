"""The command `noughts token revoke`."""

from functools import partial
from typing import Annotated

from typer import Argument

from noughts_proto.v1 import tokens_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.token.tokens import TokenServerOptions, document_of, token_id
from noughts_server.cli.database import in_database
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.core.resource_names import token_name


@command(
    example="""
$ noughts token revoke 1
Token 1 of alice is revoked.
"""
)
def revoke(
    identifier: Annotated[int, Argument(metavar="ID", help="Number of the token in `noughts token list`")],
    database: DatabaseOption = None,
    *,
    server: TokenServerOptions,
    output: OutputOptions,
) -> None:
    """Revoke a token. Bots that are logged in with it are disconnected within 1 s and lose their games."""
    if (chosen_server := server.for_tokens(database)) is not None:
        with chosen_server.connected() as client:
            request = pb.RevokeTokenRequest(name=token_name(identifier))
            revoked = client.call(client.tokens.RevokeToken, request).token
    else:
        from noughts_server.convert.tokens import token_message
        from noughts_server.store.people import tokens

        revoke = partial(tokens.revoke_token, token_id=identifier)
        stored = in_database(database, lambda store: store.write(partial(revoke, now_ms=store.now_ms())))
        revoked = token_message(stored)
    output.show(document_of(revoked), f"Token {token_id(revoked)} of {revoked.owner} is revoked.")
