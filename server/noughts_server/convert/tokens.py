"""Protocol messages of tokens."""

from noughts_proto.v1 import tokens_pb2 as pb
from noughts_server.convert.times import timestamp
from noughts_server.core.resource_names import token_name
from noughts_server.store.people.tokens import Token


def token_message(token: Token) -> pb.Token:
    """Return a token without its secret."""
    return pb.Token(
        name=token_name(token.id),
        owner=token.owner,
        label=token.label,
        scopes=token.scopes,
        create_time=timestamp(token.created_at),
        expire_time=timestamp(token.expires_at),
        revoke_time=timestamp(token.revoked_at),
        last_use_time=timestamp(token.last_used_at),
    )
