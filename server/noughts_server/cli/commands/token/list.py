"""The command `noughts token list`."""

from google.protobuf.timestamp_pb2 import Timestamp

from noughts_proto.v1 import tokens_pb2 as pb
from noughts_server.cli.command import command
from noughts_server.cli.commands.token.tokens import TokenServerOptions, document_of, token_id
from noughts_server.cli.database import in_database
from noughts_server.cli.options.database import DatabaseOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.times import from_now, milliseconds


@command(
    example="""
$ noughts token list
id  owner ... scopes      created  last used  state
...
 1  alice         play:mybot  ...  -          expires in 30 days
"""
)
def list_tokens(database: DatabaseOption = None, *, server: TokenServerOptions, output: OutputOptions) -> None:
    """List tokens without their secrets. A server lists only your own, or all with scope `admin`."""
    if (chosen_server := server.for_tokens(database)) is not None:
        with chosen_server.connected() as client:
            token_messages = list(
                client.list_items(client.tokens.ListTokens, pb.ListTokensRequest(), lambda page: page.tokens)
            )
    else:
        from noughts_server.convert.tokens import token_message
        from noughts_server.store.people import tokens

        token_messages = list(map(token_message, in_database(database, lambda store: store.read(tokens.list_tokens))))
    columns = (">id", "owner", "label", "scopes", "created", "last used", "state")
    rows = [
        (
            token_id(row),
            row.owner,
            row.label,
            " ".join(row.scopes),
            _ago(row.create_time),
            _ago(row.last_use_time),
            _state(row),
        )
        for row in token_messages
    ]
    hint = "No tokens yet. Create one: noughts token create --owner NAME"
    output.show_rows({"tokens": list(map(document_of, token_messages))}, columns, rows, hint)


def _ago(moment: Timestamp) -> str:
    time = milliseconds(moment)
    return "-" if time is None else from_now(time)


def _state(row: pb.Token) -> str:
    revoke_ms = milliseconds(row.revoke_time)
    expire_ms = milliseconds(row.expire_time)
    if revoke_ms is not None:
        return f"revoked {from_now(revoke_ms)}"
    if expire_ms is None:
        return "good"
    distance = from_now(expire_ms)
    return f"expired {distance}" if distance.endswith("ago") else f"expires {distance}"
