"""Permissions of callers. Each method of a service declares the required permission with `@open_to`.

`admission` identifies the caller before it reads the request. A method gets the caller from `current_caller`.
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
"""Attribute of a method that holds its declaration."""
SMALL_REQUEST = 128 << 10
"""Limit of the bytes of most requests."""
LARGE_REQUEST = 5 << 18
"""Limit of the bytes of requests that create tournaments, tests and challenges: they can contain a list of openings."""

NO_TOKEN = "the call has no token: expected metadata `authorization: Bearer TOKEN`"


class Access(Enum):
    """The token and the scope that a method requires of its callers."""

    ANYONE = "no token"
    NEWCOMER = "no token; an invitation or a proof of work instead"
    TOKEN = "a token; the scope that it needs depends on the request"
    PLAY = "a token with the scope `play`, or `play:NAME` of the bot that the request is about"
    SUBMIT = "a token with the scope `submit`"
    ORGANISE = "a token with the scope `organise`"
    ADMIN = "a token with the scope `admin`"


@dataclass(frozen=True, slots=True)
class Declaration:
    """The access, size limit and effect that a method declares for its calls."""

    access: Access
    most_bytes: int
    """The limit of the request's bytes."""
    reads: bool
    """Whether its calls change nothing."""


def open_to(access: Access, *, most_bytes: int = SMALL_REQUEST, reads: bool = False) -> Callable[[Method], Method]:
    """Declare which callers may call a method of a service, and the size limit of its request (not for streams).

    Pass `reads` if a method that needs a token changes nothing. Methods that are open to anyone never change anything.
    """

    def declare(method: Method) -> Method:
        setattr(method, _DECLARATION, Declaration(access, most_bytes, reads or access is Access.ANYONE))
        return method

    return declare


def declaration(method: Callable[..., Any]) -> Declaration | None:
    """Return the declaration of a method; None without one, as for the methods of libraries."""
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
    """The owner of the website that calls for one of its visitors; empty for other clients.

    Websites have limits of their own, and no rights.
    """
    guest: str = ""
    """The address of the website's visitor, as the website reports it."""
    method: str = ""
    """The method that the client calls."""

    @property
    def account(self) -> str:
        """Return the account to which the call is charged: an owner, a website, or the address of any other client."""
        if self.caller is not None:
            return f"owner {self.caller.owner}"
        return f"the website of {self.site}" if self.site else self.address

    @property
    def place(self) -> str:
        """Return the address of the client, or of the visitor for whom a website calls, whatever its token."""
        return f"the website of {self.site} for {self.guest}" if self.guest else self.address

    @property
    def payer(self) -> str:
        """Return the payer of the answer. Payers take turns, and each visitor of a website is a payer of its own."""
        return f"{self.account} for {self.guest}" if self.guest else self.account

    @property
    def group(self) -> str:
        """Return the group of payers, which takes turns with the other groups: owners, websites, all other clients."""
        if self.caller is not None:
            return "owners"
        return "websites" if self.site else ""


VISITOR: ContextVar[Visitor] = ContextVar("visitor")
"""The visitor whose call this task answers."""


def current_caller() -> Caller:
    """Return the owner of the token that came with the call. Raises Unauthenticated."""
    caller = VISITOR.get().caller
    if caller is None:
        raise Unauthenticated(NO_TOKEN)
    return caller


def caller_with_scope(scope: str) -> Caller:
    """Return the caller, whose token must permit `scope`. Raises Unauthenticated, ScopeMissing."""
    caller = current_caller()
    require_scope(caller, scope)
    return caller


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


def require_scope(caller: Caller, *scopes: str) -> None:
    """Raise ScopeMissing unless the caller's token permits one of the scopes."""
    if not any(map(caller.permits, scopes)):
        hint = f"The operator can create one: noughts token create --owner {caller.owner} --scope {scopes[0]}"
        raise ScopeMissing("token", _quoted(caller.scopes, "and"), _quoted(scopes, "or"), hint=hint)


def require_scope_of(access: Access, caller: Caller) -> None:
    """Raise ScopeMissing unless the caller's token has the scope that this access always requires.

    The scopes for PLAY and TOKEN depend on the request: the method checks them itself.
    """
    if access is Access.ORGANISE:
        require_scope(caller, ORGANISE)
    elif access is Access.SUBMIT:
        require_scope(caller, SUBMIT)
    elif access is Access.ADMIN:
        require_scope(caller, ADMIN)


def _quoted(scopes: Iterable[str], conjunction: str) -> str:
    return f" {conjunction} ".join(f"`{scope}`" for scope in scopes)
