"""Permissions of callers: each method of a service declares it with `@open_to`.

`admission` identifies the caller before it reads anything of the request; `caller` returns that caller to a method.
"""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

import grpc

from noughts_proto.transport import TOKEN_KEY
from noughts_server.core.errors import ScopeMissing, Unauthenticated
from noughts_server.store.people.scopes import ADMIN, ORGANISE, SUBMIT
from noughts_server.store.people.tokens import Caller

Context = grpc.aio.ServicerContext[Any, Any]
Method = TypeVar("Method", bound=Callable[..., Any])

_SCHEME = "Bearer "
_DECLARATION = "noughts_declaration"
SMALL_REQUEST = 128 << 10
"""Limit of the bytes of most requests."""
LARGE_REQUEST = 5 << 18
"""The same for those that create tournaments, tests and challenges, because they can contain a list of openings."""

NO_TOKEN = "metadata `authorization`: got none, expected `Bearer TOKEN`"


class Access(Enum):
    """The token and the scope that a method requires of its callers."""

    ANYONE = "no token"
    TOKEN = "a token; the scope that it needs depends on the request"
    PLAY = "a token with the scope `play`, or `play:NAME` of the bot that the request is about"
    SUBMIT = "a token with the scope `submit`"
    ORGANISE = "a token with the scope `organise`"
    ADMIN = "a token with the scope `admin`"


@dataclass(frozen=True, slots=True)
class Declaration:
    """What a method declares about its calls."""

    access: Access
    most_bytes: int
    """The limit of the request's bytes."""
    reads: bool
    """Whether its calls change nothing."""


def open_to(access: Access, *, most_bytes: int = SMALL_REQUEST, reads: bool = False) -> Callable[[Method], Method]:
    """Declare who may call a method of a service, and how large its request can be unless it is a stream.

    `reads` says that a method for callers with a token changes nothing; one for anyone never does.
    """

    def declare(method: Method) -> Method:
        setattr(method, _DECLARATION, Declaration(access, most_bytes, reads or access is Access.ANYONE))
        return method

    return declare


def declaration(method: Callable[..., Any]) -> Declaration | None:
    """Return what a method declares; None if it declares nothing, as methods of libraries."""
    return getattr(method, _DECLARATION, None)


@dataclass(frozen=True, slots=True)
class Visitor:
    """The client that made the call."""

    address: str
    """An IPv4 address or an IPv6 network; see `noughts_proto.callers`."""
    caller: Caller | None
    """The owner of the token; None for an unauthenticated client and for a bot with a ticket."""
    ticket: bool = False
    """Whether the client sent a ticket of this server instead of a token."""
    site: str = ""
    """The owner of the website that asks for a visitor: it has limits of its own, and no rights."""
    guest: str = ""
    """The address of that visitor, as the website reports it."""
    method: str = ""
    """The method that it calls."""

    @property
    def account(self) -> str:
        """Whom limits count the call for: an owner, a website, or the address of any other client."""
        if self.caller is not None:
            return f"owner {self.caller.owner}"
        return f"the website of {self.site}" if self.site else self.address

    @property
    def payer(self) -> str:
        """Return the caller that answers take turns by and are charged to: each visitor of a website is one."""
        return f"{self.account} for {self.guest}" if self.guest else self.account

    @property
    def group(self) -> str:
        """Return the group that takes turns with others: owners, visitors of websites, and all other clients."""
        if self.caller is not None:
            return "owners"
        return "websites" if self.site else ""


VISITOR: ContextVar[Visitor] = ContextVar("visitor")
"""The visitor whose call this task answers."""


def caller() -> Caller:
    """Return the owner of the token that came with the call. Raises Unauthenticated."""
    who = VISITOR.get().caller
    if who is None:
        raise Unauthenticated(NO_TOKEN)
    return who


def caller_as(scope: str) -> Caller:
    """Return the caller, whose token must permit `scope`. Raises Unauthenticated, ScopeMissing."""
    who = caller()
    require(who, scope)
    return who


def bearer_token(context: Context) -> str | None:
    """Return the secret of `authorization: Bearer SECRET`; None if the metadata has none."""
    for key, value in context.invocation_metadata() or ():
        if key == TOKEN_KEY and isinstance(value, str) and value.startswith(_SCHEME):
            return value[len(_SCHEME) :].strip()
    return None


def when_done(context: Context, action: Callable[[], object]) -> None:
    """Call the action when the call is over and the operating system has its last byte."""

    def act(context: Context) -> None:
        action()

    context.add_done_callback(act)  # type: ignore[arg-type]  # the stubs want a subclass


def require(who: Caller, *scopes: str) -> None:
    """Raise ScopeMissing unless the caller's token permits one of the scopes."""
    if not any(map(who.permits, scopes)):
        hint = f"The operator can create one: noughts token create --owner {who.owner} --scope {scopes[0]}"
        raise ScopeMissing("token", _quoted(who.scopes, "and"), _quoted(scopes, "or"), hint=hint)


def require_declared(who: Caller, access: Access) -> None:
    """Raise ScopeMissing if no request to such a method could succeed with this token."""
    if access is Access.ORGANISE:
        require(who, ORGANISE)
    elif access is Access.SUBMIT:
        require(who, SUBMIT)
    elif access is Access.ADMIN:
        require(who, ADMIN)


def _quoted(scopes: Iterable[str], word: str) -> str:
    return f" {word} ".join(f"`{scope}`" for scope in scopes)
