"""TokenService: the tokens of the caller's owner; with the scope `admin`, those of every owner."""

from functools import partial

from noughts_proto.v1 import tokens_pb2 as pb
from noughts_proto.v1 import tokens_pb2_grpc
from noughts_server.convert.times import milliseconds
from noughts_server.convert.tokens import token_message
from noughts_server.core.errors import InvalidArgument, PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import token_id, token_name
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.token_expiry import close_ended_sessions
from noughts_server.services.access import Access, Context, caller, open_to, require
from noughts_server.services.new_tokens import check_scopes, check_token
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.scopes import ADMIN
from noughts_server.store.people.tokens import Caller, Token, create_token, get_token, revoke_token, token_page


class TokenServicer(tokens_pb2_grpc.TokenServiceServicer):
    """Creates, reads and revokes tokens. No caller can exceed its own scopes, by a new token or by revoking another."""

    def __init__(self, store: Store, sessions: Sessions, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._sessions = sessions

    @open_to(Access.TOKEN)
    async def CreateToken(self, request: pb.CreateTokenRequest, context: Context) -> pb.CreateTokenResponse:
        who = caller()
        now = self._store.now_ms()
        owner = request.token.owner or who.owner
        scopes = check_scopes(request.token.scopes)
        for scope in scopes:
            require(who, scope)
        if owner != who.owner:
            require(who, ADMIN)
        life = _life(who, milliseconds("ttl", request.ttl if request.HasField("ttl") else None), now)
        check_token(request.token.label, life)
        create = partial(
            create_token,
            owner=owner,
            label=request.token.label,
            scopes=scopes,
            life_ms=life,
            made_by=who.token_id,
            now_ms=now,
            limits=self._limits,
        )
        made = await self._store.write(create)
        return pb.CreateTokenResponse(token=token_message(made.token), secret=made.secret)

    @open_to(Access.TOKEN, reads=True)
    async def GetToken(self, request: pb.GetTokenRequest, context: Context) -> pb.GetTokenResponse:
        who = caller()
        number = token_id("name", request.name, who.token_id)
        token = await self._store.read(lambda connection: get_token(connection, number, owner_id=who.only_owner))
        if not _sees(who, token):
            raise PermissionDenied(token_name(number))
        return pb.GetTokenResponse(token=token_message(token))

    @open_to(Access.TOKEN, reads=True)
    async def ListTokens(self, request: pb.ListTokensRequest, context: Context) -> pb.ListTokensResponse:
        who = caller()
        read = partial(token_page, size=request.page_size, page_token=request.page_token, owner_id=who.only_owner)
        page = await self._store.read(read)
        seen = [token_message(token) for token in page.items if _sees(who, token)]
        return pb.ListTokensResponse(tokens=seen, next_page_token=page.next_page_token)

    @open_to(Access.TOKEN)
    async def RevokeToken(self, request: pb.RevokeTokenRequest, context: Context) -> pb.RevokeTokenResponse:
        who = caller()
        now = self._store.now_ms()
        number = token_id("name", request.name, who.token_id)

        def revoke(connection: Connection) -> Token:
            for scope in get_token(connection, number, owner_id=who.only_owner).scopes:
                require(who, scope)
            return revoke_token(connection, number, now_ms=now, owner_id=who.only_owner)

        token = await self._store.write(revoke)
        await close_ended_sessions(self._store, self._sessions)
        return pb.RevokeTokenResponse(token=token_message(token))


def _sees(who: Caller, token: Token) -> bool:
    """Return whether a caller may see a token of its owner: its own, and those that permit no more than its own."""
    return token.id == who.token_id or all(map(who.permits, token.scopes))


def _life(who: Caller, wanted_ms: int | None, now_ms: int) -> int | None:
    """Return the lifetime of a new token in ms, at most the rest of the caller's. Raises InvalidArgument."""
    if who.expires_at is None:
        return wanted_ms
    left = who.expires_at - now_ms
    if wanted_ms is not None and wanted_ms > left:
        raise InvalidArgument.of("ttl", f"{wanted_ms / 1000:.0f} s", f"at most the {left // 1000} s left on your token")
    return left if wanted_ms is None else wanted_ms
