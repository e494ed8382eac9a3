"""Everything that can go wrong at the server and has a name.

    NoughtsError
    ├── InvalidArgument        a field of the request is wrong: it always will be
    ├── Unauthenticated        no token, or an unknown one
    │   ├── TokenRevoked       it was good once
    │   └── TokenExpired       it was good until a moment that has passed
    ├── PermissionDenied       the token is good, but the resource belongs to another owner
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
    │   └── DatabaseTrouble    the database cannot be written for now; the server resumes by itself
    │       ├── DatabaseBusy       another process holds it
    │       ├── DatabaseFull       its disk is full
    │       ├── DatabaseReadOnly   its file, folder or disk is read-only
    │       ├── DatabaseFailing    its disk fails
    │       └── DatabaseUnreachable  its server does not answer
    ├── DatabaseDamaged        the stored data of a request cannot be read
    └── OperatorError          for the operator of the server: callers only learn that something internal failed
        ├── AddressUnusable    it cannot listen there
        ├── TlsUnusable        its certificate or key cannot be used
        ├── BadBusUrl          the address of the bus cannot be read
        ├── BusUnusable        the bus of a cluster cannot be reached, or does not let us in
        ├── BadDatabaseUrl     the address of the database cannot be read
        ├── DatabaseUnusable   it cannot be opened, or is damaged
        ├── DatabaseGone       its files were taken away, or replaced, while it was open
        └── DatabaseTooNew     it was written by a newer version of Noughts

What ends a bot's stream from the referee's side has reasons of its own (`frame_connection.StreamClosed`):
SESSION_REPLACED, HEARTBEAT_MISSED, FRAME_NOT_ACKNOWLEDGED, COLUMNS_UNEVEN, TOO_MANY_COMPLAINTS, TOO_MANY_ANSWERS,
DRAINING, that of the error which ended its token, and of children also SILENT and TICKET_EXPIRED.

A new error needs a `reason` of its own and a row in `statuses.CODES` (a test fails otherwise).
"""

from typing import ClassVar, NamedTuple

LONG_SECONDS = 60.0
"""When to come again where nobody can say: what is bounded has to become less first."""

# Details travel as metadata, of which gRPC takes 8 KiB: an error returns only a part of what a caller sent.
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

    def __init__(self, *violations: FieldViolation, hint: str = "", message: str = "") -> None:
        """The message is that of the violations, unless there is a better one."""
        first = violations[0]
        text = message or "; ".join(map(str, violations))
        super().__init__(text, subject=first.field, got=first.got, expected=first.expected, hint=hint)
        self.violations = violations

    @classmethod
    def of(cls, field: str, got: object, expected: str, *, hint: str = "", message: str = "") -> "InvalidArgument":
        """The error of a single field."""
        return cls(FieldViolation(field, _cut(str(got)), expected), hint=hint, message=message)


class Unauthenticated(NoughtsError):
    """The caller has no valid token."""

    reason = "UNAUTHENTICATED"

    def __init__(self, message: str = "a valid token is needed") -> None:
        super().__init__(
            message,
            subject="token",
            hint="Check NOUGHTS_TOKEN. The operator creates tokens: noughts token create --owner NAME",
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
        text = f"{subject} is {got}, expected {expected}"
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
        hint = f"{wait}; the operator can raise the limit: noughts serve --limit {name}=NUMBER"
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


class DatabaseTrouble(Unavailable):
    """The database cannot be written, or read, for now. Nothing was changed."""

    reason = "DATABASE_TROUBLE"
    problem: ClassVar[str] = "it cannot be used"
    """What is wrong with it, as a sentence about it."""
    remedy: ClassVar[str] = "Look at its file, its folder and its disk."
    """What the operator can do."""

    def __init__(self, got: str = "") -> None:
        super().__init__(f"the database cannot be used now: {self.problem}", retry_seconds=5.0, subject="database")
        self.got = got or self.problem


class DatabaseBusy(DatabaseTrouble):
    """Another process has held the database for longer than we wait."""

    reason = "DATABASE_BUSY"
    problem = "it is held by another process"
    remedy = "Find out with `fuser` or `lsof` which process that is, and end it."


class DatabaseFull(DatabaseTrouble):
    """There is no room left on its disk."""

    reason = "DATABASE_FULL"
    problem = "its disk is full"
    remedy = "Make room on that disk."


class DatabaseReadOnly(DatabaseTrouble):
    """Its file, its folder or its disk is read-only."""

    reason = "DATABASE_READ_ONLY"
    problem = "it is read-only"
    remedy = "Make its file, its folder and its disk writable for this user."


class DatabaseFailing(DatabaseTrouble):
    """The system refuses to read or write its files."""

    reason = "DATABASE_FAILING"
    problem = "its disk fails"
    remedy = "Look at the kernel's log (`dmesg`), quotas and limits of file sizes."


class DatabaseUnreachable(DatabaseTrouble):
    """Its server does not answer."""

    reason = "DATABASE_UNREACHABLE"
    problem = "its server cannot be reached"
    remedy = "Look whether it runs, and at the network between."


class DatabaseDamaged(NoughtsError):
    """A part of the database cannot be read, so nothing that needs it can be done. The rest can."""

    reason = "DATABASE_DAMAGED"

    def __init__(self, got: str = "") -> None:
        hint = "The operator can find the damage with `noughts db check`."
        super().__init__("a part of the database is damaged", subject="database", got=got, hint=hint)


class OperatorError(NoughtsError):
    """Something that only the operator of the server can fix."""

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


class BadBusUrl(OperatorError):
    """The address of a bus cannot be read."""

    reason = "BAD_BUS_URL"

    def __init__(self, got: str, expected: str) -> None:
        super().__init__(f"bus {got!r}: expected {expected}", subject="bus", got=got, expected=expected)


class BusUnusable(OperatorError):
    """The bus at `url` cannot be used: `problem` says why."""

    reason = "BUS_UNUSABLE"

    def __init__(self, url: str, problem: str, *, hint: str = "") -> None:
        super().__init__(f"bus {url}: {problem}", subject=url, got=problem, hint=hint)


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


class DatabaseGone(OperatorError):
    """The files of an open database were deleted, moved or replaced: what is written now would be lost."""

    reason = "DATABASE_GONE"

    def __init__(self, database: str, problem: str) -> None:
        super().__init__(
            f"database {database}: {problem} while it was open",
            subject=database,
            got=problem,
            hint="Put the files back, or a backup, and start again: what was not stored is played again.",
        )


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
