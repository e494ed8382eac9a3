"""Every error of the server that has a name. docs/reference/errors.md is generated from these classes.

If the referee ends a bot's stream, the reason is one of `frame_connection.StreamClosed`: SESSION_REPLACED,
HEARTBEAT_MISSED, FRAME_NOT_ACKNOWLEDGED, COLUMNS_UNEVEN, TOO_MANY_COMPLAINTS, TOO_MANY_ANSWERS, DRAINING, or the reason
of the error that ended the bot's token. Children can also get SILENT and TICKET_EXPIRED.

A new error needs a row in `statuses.CODES`, unless a parent class has one. Otherwise a test fails.
"""

import errno
import re
from typing import ClassVar

from noughts_proto.errors import USAGE, ExplainedError

LONG_SECONDS = 60.0
"""The retry delay if the time is unknown, because other calls must end first."""

# Details travel as metadata, of which gRPC takes 8 KiB: an error returns only a part of what a caller sent.
_LONGEST_VALUE, _LONGEST_MESSAGE = 200, 1000


def _cut(text: str, longest: int = _LONGEST_VALUE) -> str:
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text)} characters)"


class NoughtsError(ExplainedError):
    """The root of the server's errors. The text is for users, the attributes are for programs."""

    reason: ClassVar[str]
    """The name of the class in UPPER_SNAKE, or an earlier name. Programs can compare with it, because it does not
    change."""
    text: ClassVar[str] = "{subject}"
    """The text, with the names of attributes in braces."""
    usual_hint: ClassVar[str] = ""
    usual_agent_hint: ClassVar[str] = ""
    subject: str
    """The subject of the error, e.g. `tournaments/42` or a field; empty if nothing fits."""
    got: str
    expected: str
    agent_hint: str
    """The hint for agents, which have tools in place of commands; empty if `hint` names no command."""

    def __init_subclass__(cls) -> None:
        if "reason" not in vars(cls):
            cls.reason = re.sub("(?<!^)(?=[A-Z])", "_", cls.__name__).upper()

    def __init__(
        self,
        subject: str = "",
        got: str = "",
        expected: str = "",
        *,
        hint: str = "",
        agent_hint: str = "",
        message: str = "",
    ) -> None:
        """`message`, `hint` and `agent_hint` replace the usual texts of the class."""
        message = message or self.text.format(subject=subject, got=got, expected=expected)
        super().__init__(_cut(message, _LONGEST_MESSAGE), hint or self.usual_hint)
        self.subject = _cut(subject)
        self.got = _cut(got)
        self.expected = expected
        self.agent_hint = agent_hint or ("" if hint else self.usual_agent_hint)


class InvalidArgument(NoughtsError):
    """A field of the request is wrong. The details name it, and what it must be."""

    exit_code = USAGE
    text = "{subject}: got {got!r}, expected {expected}"

    @classmethod
    def of(
        cls, field: str, got: object, expected: str, *, hint: str = "", agent_hint: str = "", message: str = ""
    ) -> "InvalidArgument":
        """Return the error of a field, by its path, e.g. `tournament.variant`."""
        return cls(field, _cut(str(got)), expected, hint=hint, agent_hint=agent_hint, message=message)


class Unauthenticated(NoughtsError):
    """The call has no token, or an unknown one."""

    text = "a valid token is needed"
    usual_hint = "Check NOUGHTS_TOKEN. The operator creates tokens: noughts token create --owner NAME"
    usual_agent_hint = (
        "Check the token of this client: NOUGHTS_TOKEN, or over HTTP the header `Authorization: Bearer TOKEN`. "
        "The operator creates tokens: noughts token create --owner NAME"
    )

    def __init__(self, message: str = "") -> None:
        super().__init__("token", message=message)


class TokenRevoked(Unauthenticated):
    """The token was revoked."""

    text = "the token was revoked"


class TokenExpired(Unauthenticated):
    """The token has expired."""

    text = "the token has expired"


class PermissionDenied(NoughtsError):
    """The token is valid, but `subject` belongs to another owner."""

    text = "{subject} is not yours"
    usual_hint = "Use a token of its owner, or one with the scope `admin`."


class ScopeMissing(PermissionDenied):
    """The token has none of the scopes that the call requires."""

    text = "the token lacks the scope {expected}; it has {got}"


class InvitationRefused(PermissionDenied):
    """Nobody can register with the invitation: it is unknown, revoked, expired or used up."""

    text = "the invitation is {got}"

    def __init__(self, got: str) -> None:
        super().__init__("invitation", got, "a valid one", hint="Ask the operator of the server for a new one.")


class NotFound(NoughtsError):
    """`subject` does not exist."""

    text = "{subject} does not exist"


class UnknownMethod(NoughtsError):
    """The server does not have this service or method."""

    text = "{got} does not exist on this server"
    usual_hint = "Check whether the server is older than the client."


class AlreadyExists(NoughtsError):
    """`subject` already exists."""

    text = "{subject} already exists"
    usual_hint = "Choose another name."


class RequestConflict(NoughtsError):
    """The `request_id` was used before for another request."""

    text = "{subject} {got!r} was already used for another request"
    usual_hint = "Repeat a request unchanged, or choose a new request_id for a new one."


class WrongState(NoughtsError):
    """`subject` is in the state `got`; the request needs the state `expected`."""

    text = "{subject} is {got}, expected {expected}"


class ProtocolUnsupported(NoughtsError):
    """The bot uses a version of the protocol that the server does not support."""

    def __init__(self, *, minimum: int, maximum: int, got: int) -> None:
        text = f"protocol {got} is not supported; this server speaks {minimum} to {maximum}"
        expected = str(minimum) if minimum == maximum else f"{minimum} to {maximum}"
        hint = "Update the bot's SDK." if got < minimum else "Use an older SDK, or a newer server."
        super().__init__("protocol", str(got), expected, hint=hint, message=text)
        self.minimum = minimum
        self.maximum = maximum
        self.version = got


class ResourceExhausted(NoughtsError):
    """`subject` is larger than the server accepts."""

    def __init__(self, subject: str, *, got: int, limit: int, hint: str = "") -> None:
        text = f"{subject}: {got:,} is more than the limit of {limit:,}"
        super().__init__(subject, str(got), f"at most {limit}", hint=hint, message=text)
        self.limit = limit


class LimitReached(ResourceExhausted):
    """The caller has reached the limit that the metadata field `limit` names. RetryInfo says when to try again."""

    def __init__(
        self, name: str, subject: str, *, got: int, limit: int, retry_seconds: float, instead: str = ""
    ) -> None:
        """`instead` is what the caller can do at once. Without it, the hint of a long wait has no time."""
        wait = f"in {retry_seconds:.1f} s" if retry_seconds < LONG_SECONDS else "when there are fewer"
        advice = f"{instead}, or try again in {retry_seconds:,.0f} s" if instead else f"Try again {wait}"
        hint = f"{advice}; the operator can raise the limit: noughts serve --set-limit {name}=NUMBER"
        super().__init__(subject, got=got, limit=limit, hint=hint)
        self.name = name
        self.retry_seconds = retry_seconds


class TooManyEntries(ResourceExhausted):
    """The tournament has its maximum of entries."""


class Unavailable(NoughtsError):
    """The server cannot answer now. RetryInfo says when to try again."""

    def __init__(self, message: str, *, retry_seconds: float = 1.0, subject: str = "") -> None:
        super().__init__(subject, hint=f"Try again in {retry_seconds:g} s.", message=message)
        self.retry_seconds = retry_seconds


class Draining(Unavailable):
    """The server is shutting down. Connect again: it restarts, or another server answers."""

    def __init__(self, retry_seconds: float = 5.0) -> None:
        super().__init__("the server is shutting down", retry_seconds=retry_seconds)


class MachineExhausted(Unavailable):
    """The server's machine has no disk space, files or memory left. Nothing was changed."""

    reason = "MACHINE_TROUBLE"

    def __init__(self, problem: str, remedy: str, report: str = "") -> None:
        """`remedy` says what the operator can do. `report` is the text of the system, only for the operator."""
        super().__init__(f"the server cannot do this now: {problem}", retry_seconds=5.0, subject="server")
        self.problem = self.got = problem
        self.remedy = remedy
        self.report = report or problem

    @classmethod
    def of(cls, error: BaseException) -> "MachineExhausted | None":
        """Return the MachineExhausted for a system error that only the operator can fix; None for any other error."""
        if isinstance(error, MemoryError):
            return cls("it has no memory left", _FREE_MEMORY)
        if isinstance(error, OSError) and error.errno in MACHINE_PROBLEMS:
            problem, remedy = MACHINE_PROBLEMS[error.errno]
            return cls(problem, remedy, report=str(error))
        return None


_FREE_SPACE = "Free some space on the disk of the temporary folder (TMPDIR), or choose another one."
_FREE_FILES = "Raise the limit of open files (`ulimit -n`, LimitNOFILE= of systemd), or end connections."
_FREE_MEMORY = "Give the server more memory."
MACHINE_PROBLEMS = {
    errno.ENOSPC: ("a disk of its machine is full", _FREE_SPACE),
    errno.EDQUOT: ("its disk quota is used up", _FREE_SPACE),
    errno.EFBIG: (
        "a limit on the size of its files is reached",
        "Raise the limit (`ulimit -f`, LimitFSIZE= of systemd).",
    ),
    errno.EROFS: ("a disk of its machine is read-only", "Make the temporary folder (TMPDIR) writable."),
    errno.EIO: ("a disk of its machine reports an error", "Check the kernel log (`dmesg`)."),
    errno.EMFILE: ("it has opened as many files as it can", _FREE_FILES),
    errno.ENFILE: ("its machine has opened as many files as it can", "Raise fs.file-max, or end other programs."),
    errno.ENOMEM: ("its machine has no memory left", _FREE_MEMORY),
}
"""Problems of the machine, and what the operator can do, by error number."""


class DatabaseUnavailable(Unavailable):
    """The database is unavailable. Nothing was changed, and the server resumes by itself."""

    reason = "DATABASE_TROUBLE"

    problem: str = "it cannot be used"
    """The reason, as a clause about the database."""
    remedy: str = "Check its file, its folder and its disk."
    """Advice for the operator."""

    def __init__(self, got: str = "", *, problem: str = "", remedy: str = "") -> None:
        self.problem = problem or self.problem
        self.remedy = remedy or self.remedy
        super().__init__(f"the database is unavailable: {self.problem}", retry_seconds=5.0, subject="database")
        self.got = got or self.problem


class DatabaseBusy(DatabaseUnavailable):
    """Another process has locked the database for more than 5 s."""

    problem = "another process has locked it"
    remedy = "Find that process with `fuser` or `lsof`, and end it."


class DatabaseFull(DatabaseUnavailable):
    """The disk of the database is full."""

    problem = "its disk is full"
    remedy = "Free some space on that disk."


class DatabaseReadOnly(DatabaseUnavailable):
    """The file, folder or disk of the database is read-only."""

    problem = "it is read-only"
    remedy = "Make its file, its folder and its disk writable for this user."


class DatabaseForbidden(DatabaseUnavailable):
    """This user of PostgreSQL cannot create or change the tables of the database."""

    problem = "this user cannot create or change its tables"
    remedy = "Make this user the owner of the database: ALTER DATABASE ... OWNER TO ..."


class DatabaseFailing(DatabaseUnavailable):
    """The disk of the database fails, or a limit on file sizes is reached."""

    problem = "its disk reports an error"
    remedy = "Check the kernel log (`dmesg`), disk quotas and file size limits."


class DatabaseUnreachable(DatabaseUnavailable):
    """The PostgreSQL server does not answer."""

    problem = "its server cannot be reached"
    remedy = "Check that the database server is running, and that this machine can reach it."


class DatabaseDamaged(NoughtsError):
    """Part of the database is damaged. Calls that need it fail; the others work."""

    text = "part of the database is damaged"
    usual_hint = "The operator can find the damage with `noughts db check`."

    def __init__(self, got: str = "") -> None:
        super().__init__("database", got)


class OperatorError(NoughtsError):
    """Another error that only the operator can fix."""

    reason = "OPERATOR"


class AddressUnusable(OperatorError):
    """The server cannot listen on the address, for example because another program does."""

    text = "cannot listen on {subject}"

    def __init__(self, address: str, *, option: str = "--listen") -> None:
        hint = f"Is another server running there? Choose another HOST:PORT with {option}; port 0 picks a free port."
        super().__init__(address, hint=hint)


class TlsUnusable(OperatorError):
    """The certificate or the key of the server cannot be used."""

    text = "{subject}: got {got}, expected {expected}"


class BadBusUrl(OperatorError):
    """The address after `--bus` is wrong."""

    text = "bus {subject!r}: expected {expected}"


class BusUnusable(OperatorError):
    """The bus of the cluster cannot be reached, or rejects the credentials."""

    text = "bus {subject}: {got}"


class BadDatabaseUrl(OperatorError):
    """The address after `--db` is wrong."""

    exit_code = USAGE
    text = "database {subject!r}: expected {expected}"


class DatabaseUnusable(OperatorError):
    """The database cannot be opened or written, or is damaged."""

    text = "database {subject}: {got}"


class DatabaseGone(OperatorError):
    """The files of the database were deleted, moved or replaced while the server ran."""

    text = "database {subject}: {got} while it was open"
    usual_hint = "Restore the files or a backup, and start again. Games that were not stored are played again."


class DatabaseTooNew(OperatorError):
    """A newer version of Noughts has written the database."""

    text = "database {subject} has schema {got}, but this version of Noughts knows {expected}"
    usual_hint = "Use the newer version of Noughts that wrote it, or another database."
