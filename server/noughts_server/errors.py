"""Everything that can go wrong at the server and has a name.

    NoughtsError
    ├── InvalidArgument        a field of the request is wrong: it always will be
    ├── Unauthenticated        no token, or an unknown one
    │   ├── TokenRevoked       it was good once
    │   └── TokenExpired       it was good until a moment that has passed
    ├── PermissionDenied       the token is good, but the thing belongs to somebody else
    │   └── ScopeMissing       the token is its owner's, but does not permit this
    ├── NotFound               there is no such thing
    ├── UnknownMethod          there is no such call
    ├── AlreadyExists          the name is taken
    ├── RequestConflict        a request_id was used before with another body
    ├── WrongState             the thing exists, but is not in the state that the request needs
    ├── ProtocolUnsupported    the bot speaks another protocol
    ├── ResourceExhausted      a limit of the server
    │   ├── LimitReached       a bound on one caller, or on all of them: try again later
    │   └── TooManyEntries     the tournament is full
    ├── Unavailable            try again later
    │   ├── Draining           the server is shutting down
    │   └── DatabaseBusy       another process holds the database
    └── OperatorError          for whoever runs the server: callers only learn that something internal failed
        ├── AddressUnusable    it cannot listen there
        ├── TlsUnusable        its certificate or key cannot be used
        ├── BadDatabaseUrl     the address of the database cannot be read
        ├── DatabaseUnusable   it cannot be opened, or is damaged
        └── DatabaseTooNew     it was written by a newer version of Noughts

What ends a bot's stream from the referee's side has reasons of its own (`noughts_referee.frame_wire.StreamClosed`):
SESSION_REPLACED, HEARTBEAT_MISSED, FRAME_NOT_ACKNOWLEDGED, COLUMNS_UNEVEN, TOO_MANY_COMPLAINTS, TOO_MANY_ANSWERS,
DRAINING, that of the error which ended its token, and of children also SILENT and TICKET_EXPIRED.

A new error needs a `reason` of its own and a row in `_CODES` (a test fails otherwise).
"""

from collections.abc import Mapping
from typing import ClassVar, NamedTuple

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure, RetryInfo
from google.rpc.status_pb2 import Status

DOMAIN = "noughts"
"""The domain of every `google.rpc.ErrorInfo` of this server."""

INTERNAL_REASON = "INTERNAL"
"""The reason of whatever the caller may not learn more about."""


LONG_SECONDS = 60.0
"""When to come again where nobody can say: what is bounded has to become less first."""

# Details travel as metadata, of which gRPC takes 8 KiB: what a caller sent is told back in part only.
_LONGEST_VALUE, _LONGEST_MESSAGE = 200, 1000


def _cut(text: str, longest: int = _LONGEST_VALUE) -> str:
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


class NoughtsError(Exception):
    """The root of the tree. The text says what is wrong, the attributes say it to programs."""

    reason: ClassVar[str]
    """UPPER_SNAKE, stable: what programs may compare with."""
    subject: str
    """What the error is about, e.g. `tournaments/42` or a field; empty where nothing fits."""
    got: str
    expected: str
    hint: str
    """What to do next, as a sentence for people; empty where nothing fits."""

    def __init__(self, message: str, *, subject: str = "", got: str = "", expected: str = "", hint: str = "") -> None:
        super().__init__(_cut(message, _LONGEST_MESSAGE))
        self.subject = _cut(subject)
        self.got = _cut(got)
        self.expected = expected
        self.hint = hint


class FieldViolation(NamedTuple):
    """One wrong field of a request."""

    field: str
    """Its path, e.g. `tournament.variant`."""
    got: str
    expected: str

    def __str__(self) -> str:
        return f"{self.field}: got {self.got!r}, expected {self.expected}"


class InvalidArgument(NoughtsError):
    """One or more fields of the request are wrong."""

    reason = "INVALID_ARGUMENT"

    def __init__(self, *violations: FieldViolation, hint: str = "") -> None:
        first = violations[0]
        text = "; ".join(map(str, violations))
        super().__init__(text, subject=first.field, got=first.got, expected=first.expected, hint=hint)
        self.violations = violations

    @classmethod
    def of(cls, field: str, got: object, expected: str, *, hint: str = "") -> "InvalidArgument":
        """The error of a single field."""
        return cls(FieldViolation(field, _cut(str(got)), expected), hint=hint)


class Unauthenticated(NoughtsError):
    """Nobody known is calling."""

    reason = "UNAUTHENTICATED"

    def __init__(self, message: str = "a valid token is needed") -> None:
        super().__init__(
            message, subject="token", hint="Make a token with `noughts token create`, and give it in NOUGHTS_TOKEN."
        )


class TokenRevoked(Unauthenticated):
    """The token was revoked."""

    reason = "TOKEN_REVOKED"

    def __init__(self) -> None:
        super().__init__("the token was revoked")


class TokenExpired(Unauthenticated):
    """The token's time is over."""

    reason = "TOKEN_EXPIRED"

    def __init__(self) -> None:
        super().__init__("the token has expired")


class PermissionDenied(NoughtsError):
    """The caller is known, but may not do this to `subject`."""

    reason = "PERMISSION_DENIED"

    def __init__(
        self, subject: str, *, hint: str = "It takes a token of its owner, or one with the scope `admin`."
    ) -> None:
        super().__init__(f"{subject} is not yours", subject=subject, hint=hint)


class ScopeMissing(PermissionDenied):
    """The caller's token has none of the scopes that this needs."""

    reason = "SCOPE_MISSING"

    def __init__(self, *, got: str, expected: str, hint: str = "") -> None:
        NoughtsError.__init__(
            self,
            f"the token lacks the scope {expected}; it has {got}",
            subject="token",
            got=got,
            expected=expected,
            hint=hint,
        )


class NotFound(NoughtsError):
    """There is no `subject`."""

    reason = "NOT_FOUND"

    def __init__(self, subject: str, *, hint: str = "") -> None:
        super().__init__(f"{subject} does not exist", subject=subject, hint=hint)


class UnknownMethod(NoughtsError):
    """A call to a service or a method that this server does not have."""

    reason = "UNKNOWN_METHOD"

    def __init__(self, method: str) -> None:
        super().__init__(
            f"{method} does not exist at this server",
            subject="method",
            got=method,
            expected="a method of noughts.v1",
            hint="Is the server older than the caller?",
        )


class AlreadyExists(NoughtsError):
    """`subject` is taken."""

    reason = "ALREADY_EXISTS"

    def __init__(self, subject: str, *, hint: str = "Choose another name.") -> None:
        super().__init__(f"{subject} exists already", subject=subject, hint=hint)


class RequestConflict(NoughtsError):
    """A request_id came again with another method or body."""

    reason = "REQUEST_CONFLICT"

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"request_id {request_id!r} was used before with another request",
            subject="request_id",
            got=request_id,
            hint="Repeat a request unchanged, or choose a new request_id for a new one.",
        )


class WrongState(NoughtsError):
    """`subject` is in state `got`, the request needs `expected`."""

    reason = "WRONG_STATE"

    def __init__(self, subject: str, *, got: str, expected: str, hint: str = "") -> None:
        text = f"{subject} is {got}, this needs {expected}"
        super().__init__(text, subject=subject, got=got, expected=expected, hint=hint)


class ProtocolUnsupported(NoughtsError):
    """A bot speaks protocol `version`; the server speaks `minimum` to `maximum`."""

    reason = "PROTOCOL_UNSUPPORTED"

    def __init__(self, *, minimum: int, maximum: int, got: int) -> None:
        super().__init__(
            f"protocol {got} is not supported, this server speaks {minimum} to {maximum}",
            subject="protocol",
            got=str(got),
            expected=str(minimum) if minimum == maximum else f"{minimum} to {maximum}",
            hint="Update the bot's SDK." if got < minimum else "Use an older SDK, or a newer server.",
        )
        self.minimum = minimum
        self.maximum = maximum
        self.version = got


class ResourceExhausted(NoughtsError):
    """`got` is more than the `limit` that holds for `subject`."""

    reason = "RESOURCE_EXHAUSTED"

    def __init__(self, subject: str, *, got: int, limit: int, hint: str = "") -> None:
        text = f"{subject}: {got:,} is more than the limit of {limit:,}"
        super().__init__(text, subject=subject, got=str(got), expected=f"at most {limit}", hint=hint)
        self.limit = limit


class LimitReached(ResourceExhausted):
    """The bound called `name` (see `noughts_server.limits`) is reached for `subject`."""

    reason = "LIMIT_REACHED"

    def __init__(self, name: str, subject: str, *, got: int, limit: int, retry_seconds: float) -> None:
        wait = (
            f"Try again in {retry_seconds:.1f} s" if retry_seconds < LONG_SECONDS else "Try again when there are fewer"
        )
        hint = f"{wait}; the operator sets the bound with: noughts serve --limit {name}=NUMBER"
        super().__init__(subject, got=got, limit=limit, hint=hint)
        self.name = name
        self.retry_seconds = retry_seconds


class TooManyEntries(ResourceExhausted):
    """The tournament `subject` is full."""

    reason = "TOO_MANY_ENTRIES"


class Unavailable(NoughtsError):
    """The same request may succeed in `retry_seconds`."""

    reason = "UNAVAILABLE"

    def __init__(self, message: str, *, retry_seconds: float = 1.0, subject: str = "") -> None:
        super().__init__(message, subject=subject, hint=f"Try again in {retry_seconds:g} s.")
        self.retry_seconds = retry_seconds


class Draining(Unavailable):
    """The server is shutting down."""

    reason = "DRAINING"

    def __init__(self, retry_seconds: float = 5.0) -> None:
        super().__init__("the server is shutting down", retry_seconds=retry_seconds)


class DatabaseBusy(Unavailable):
    """Another process has held the database for longer than we wait. Nothing was changed."""

    reason = "DATABASE_BUSY"

    def __init__(self) -> None:
        super().__init__("the database is held by another process")


class OperatorError(NoughtsError):
    """Something that only the operator of the server can mend."""

    reason = "OPERATOR"


class AddressUnusable(OperatorError):
    """The server cannot listen at `address`."""

    reason = "ADDRESS_UNUSABLE"

    def __init__(self, address: str, *, option: str = "--listen") -> None:
        super().__init__(
            f"cannot listen at {address}",
            subject=address,
            hint=f"Is another server running there? Choose another HOST:PORT with {option}; port 0 takes a free one.",
        )


class TlsUnusable(OperatorError):
    """The server's certificate or key cannot be used."""

    reason = "TLS_UNUSABLE"

    def __init__(self, subject: str, *, got: str, expected: str, hint: str) -> None:
        text = f"{subject}: got {got}, expected {expected}"
        super().__init__(text, subject=subject, got=got, expected=expected, hint=hint)


class BadDatabaseUrl(OperatorError):
    """The address of the database cannot be read."""

    reason = "BAD_DATABASE_URL"

    def __init__(self, url: str, expected: str) -> None:
        text = f"database {url!r}: expected {expected}"
        super().__init__(text, subject="database", got=url, expected=expected)


class DatabaseUnusable(OperatorError):
    """The database cannot be opened, written or understood."""

    reason = "DATABASE_UNUSABLE"

    def __init__(self, database: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"database {database}: {problem}", subject=database, got=problem, hint=hint)


class DatabaseTooNew(OperatorError):
    """A newer version of Noughts has changed the database."""

    reason = "DATABASE_TOO_NEW"

    def __init__(self, database: str, *, found: str, known: str) -> None:
        super().__init__(
            f"database {database} has schema {found}, this version of Noughts knows {known}",
            subject=database,
            got=found,
            expected=known,
            hint="Use the newer version of Noughts that wrote it, or another database.",
        )


_CODES: Mapping[type[NoughtsError], int] = {
    InvalidArgument: Code.INVALID_ARGUMENT,
    Unauthenticated: Code.UNAUTHENTICATED,
    TokenRevoked: Code.UNAUTHENTICATED,
    TokenExpired: Code.UNAUTHENTICATED,
    PermissionDenied: Code.PERMISSION_DENIED,
    ScopeMissing: Code.PERMISSION_DENIED,
    NotFound: Code.NOT_FOUND,
    UnknownMethod: Code.UNIMPLEMENTED,
    AlreadyExists: Code.ALREADY_EXISTS,
    RequestConflict: Code.ALREADY_EXISTS,
    WrongState: Code.FAILED_PRECONDITION,
    ProtocolUnsupported: Code.FAILED_PRECONDITION,
    ResourceExhausted: Code.RESOURCE_EXHAUSTED,
    LimitReached: Code.RESOURCE_EXHAUSTED,
    TooManyEntries: Code.RESOURCE_EXHAUSTED,
    Unavailable: Code.UNAVAILABLE,
    Draining: Code.UNAVAILABLE,
    DatabaseBusy: Code.UNAVAILABLE,
    OperatorError: Code.INTERNAL,
    AddressUnusable: Code.INTERNAL,
    TlsUnusable: Code.INTERNAL,
    BadDatabaseUrl: Code.INTERNAL,
    DatabaseUnusable: Code.INTERNAL,
    DatabaseTooNew: Code.INTERNAL,
}


def to_status(error: BaseException) -> Status:
    """What a caller over the network learns of `error`.

    Always an ErrorInfo (domain `noughts`); BadRequest, PreconditionFailure or RetryInfo where one fits. Of errors
    without a place in the tree, and of those meant for the operator, only that something internal failed.
    """
    if not isinstance(error, NoughtsError) or isinstance(error, OperatorError):
        info = ErrorInfo(reason=INTERNAL_REASON, domain=DOMAIN)
        return _status(Code.INTERNAL, "internal error; the server's log has more", [info])
    info = ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=_metadata(error))
    return _status(_code(error), str(error), [info, *_further_details(error)])


def _code(error: NoughtsError) -> int:
    """Of the nearest class in the tree: a subclass of a mapped error is never unmapped."""
    return next((_CODES[kind] for kind in type(error).__mro__ if kind in _CODES), Code.INTERNAL)


def _status(code: int, message: str, details: list[Message]) -> Status:
    status = Status(code=code, message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return status


def _metadata(error: NoughtsError) -> dict[str, str]:
    named = {"subject": error.subject, "got": error.got, "expected": error.expected, "hint": error.hint}
    if isinstance(error, ProtocolUnsupported):
        named |= {"minimum": str(error.minimum), "maximum": str(error.maximum)}
    elif isinstance(error, LimitReached):
        named |= {"limit": error.name}
    return {name: text for name, text in named.items() if text}


def _bad_request(error: InvalidArgument) -> Message:
    violations = [
        BadRequest.FieldViolation(
            field=violation.field, description=f"got {violation.got!r}, expected {violation.expected}"
        )
        for violation in error.violations
    ]
    return BadRequest(field_violations=violations)


def _precondition_failure(error: WrongState | ProtocolUnsupported) -> Message:
    violation = PreconditionFailure.Violation(
        type="STATE" if isinstance(error, WrongState) else "PROTOCOL", subject=error.subject, description=str(error)
    )
    return PreconditionFailure(violations=[violation])


def _retry_info(error: Unavailable | LimitReached) -> Message:
    delay = Duration()
    delay.FromMilliseconds(round(error.retry_seconds * 1000))
    return RetryInfo(retry_delay=delay)


def _further_details(error: NoughtsError) -> list[Message]:
    if isinstance(error, InvalidArgument):
        return [_bad_request(error)]
    if isinstance(error, WrongState | ProtocolUnsupported):
        return [_precondition_failure(error)]
    if isinstance(error, Unavailable | LimitReached):
        return [_retry_info(error)]
    return []
