"""TokenService: the tokens of the caller's owner; with the scope `admin`, those of every owner."""

from functools import partial

from noughts_proto.v1 import tokens_pb2 as pb
from noughts_proto.v1 import tokens_pb2_grpc
from noughts_server.convert.times import milliseconds
from noughts_server.convert.tokens import token_message
from noughts_server.core.errors import PermissionDenied
from noughts_server.core.limits import Limits
from noughts_server.core.resource_names import token_id, token_name
from noughts_server.runtime.sessions import Sessions
from noughts_server.runtime.token_expiry import close_ended_sessions
from noughts_server.services.access import Access, Context, current_caller, open_to, require_scope
from noughts_server.services.new_tokens import allowed_lifetime_ms, check_scopes, check_token
from noughts_server.store.engine.database import Connection, Store
from noughts_server.store.people.scopes import ADMIN
from noughts_server.store.people.tokens import Caller, Token, create_token, get_token, revoke_token, token_page


class TokenServicer(tokens_pb2_grpc.TokenServiceServicer):
    """Creates, reads and revokes tokens. Callers cannot create or revoke a token with scopes that their own lacks."""

    def __init__(self, store: Store, sessions: Sessions, limits: Limits) -> None:
        self._store = store
        self._limits = limits
        self._sessions = sessions

    @open_to(Access.TOKEN)
    async def CreateToken(self, request: pb.CreateTokenRequest, context: Context) -> pb.CreateTokenResponse:
        caller = current_caller()
        now = self._store.now_ms()
        owner = request.token.owner or caller.owner
        scopes = check_scopes(request.token.scopes)
        for scope in scopes:
            require_scope(caller, scope)
        if owner != caller.owner:
            require_scope(caller, ADMIN)
        lifetime_ms = allowed_lifetime_ms(
            caller, milliseconds("ttl", request.ttl if request.HasField("ttl") else None), now
        )
        check_token(request.token.label, lifetime_ms)
        create = partial(
            create_token,
            owner=owner,
            label=request.token.label,
            scopes=scopes,
            lifetime_ms=lifetime_ms,
            made_by=caller.token_id,
            now_ms=now,
            limits=self._limits,
        )
        created = await self._store.write(create)
        return pb.CreateTokenResponse(token=token_message(created.token), secret=created.secret)

    @open_to(Access.TOKEN, reads=True)
    async def GetToken(self, request: pb.GetTokenRequest, context: Context) -> pb.GetTokenResponse:
        caller = current_caller()
        number = token_id("name", request.name, caller.token_id)
        token = await self._store.read(lambda connection: get_token(connection, number, owner_id=caller.only_owner))
        if not _can_see(caller, token):
            raise PermissionDenied(token_name(number))
        return pb.GetTokenResponse(token=token_message(token))

    @open_to(Access.TOKEN, reads=True)
    async def ListTokens(self, request: pb.ListTokensRequest, context: Context) -> pb.ListTokensResponse:
        caller = current_caller()
        read = partial(token_page, size=request.page_size, page_token=request.page_token, owner_id=caller.only_owner)
        page = await self._store.read(read)
        tokens = [token_message(token) for token in page.items if _can_see(caller, token)]
        return pb.ListTokensResponse(tokens=tokens, next_page_token=page.next_page_token)

    @open_to(Access.TOKEN)
    async def RevokeToken(self, request: pb.RevokeTokenRequest, context: Context) -> pb.RevokeTokenResponse:
        caller = current_caller()
        now = self._store.now_ms()
        number = token_id("name", request.name, caller.token_id)

        def revoke(connection: Connection) -> Token:
            for scope in get_token(connection, number, owner_id=caller.only_owner).scopes:
                require_scope(caller, scope)
            return revoke_token(connection, number, now_ms=now, owner_id=caller.only_owner)

        token = await self._store.write(revoke)
        await close_ended_sessions(self._store, self._sessions)
        return pb.RevokeTokenResponse(token=token_message(token))


def _can_see(caller: Caller, token: Token) -> bool:
    """Return whether the caller can see this token: its own, or one with no scope that the caller's own lacks."""
    return token.id == caller.token_id or all(map(caller.permits, token.scopes))
