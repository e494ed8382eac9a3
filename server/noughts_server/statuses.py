"""What a caller over the network learns of an error: the one place where errors become statuses."""

from collections.abc import Mapping

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure, RetryInfo
from google.rpc.status_pb2 import Status

from noughts_server.errors import (
    AddressUnusable,
    AlreadyExists,
    BadBusUrl,
    BadDatabaseUrl,
    BusUnusable,
    DatabaseBusy,
    DatabaseDamaged,
    DatabaseFailing,
    DatabaseFull,
    DatabaseGone,
    DatabaseReadOnly,
    DatabaseTooNew,
    DatabaseTrouble,
    DatabaseUnreachable,
    DatabaseUnusable,
    Draining,
    InvalidArgument,
    LimitReached,
    NotFound,
    NoughtsError,
    OperatorError,
    PermissionDenied,
    ProtocolUnsupported,
    RequestConflict,
    ResourceExhausted,
    ScopeMissing,
    TlsUnusable,
    TokenExpired,
    TokenRevoked,
    TooManyEntries,
    Unauthenticated,
    Unavailable,
    UnknownMethod,
    WrongState,
)

DOMAIN = "noughts"
"""The domain of every `google.rpc.ErrorInfo` of this server."""

INTERNAL_REASON = "INTERNAL"
"""The reason of whatever the caller may not learn more about."""

CODES: Mapping[type[NoughtsError], int] = {
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
    DatabaseTrouble: Code.UNAVAILABLE,
    DatabaseBusy: Code.UNAVAILABLE,
    DatabaseFull: Code.UNAVAILABLE,
    DatabaseReadOnly: Code.UNAVAILABLE,
    DatabaseFailing: Code.UNAVAILABLE,
    DatabaseUnreachable: Code.UNAVAILABLE,
    DatabaseDamaged: Code.DATA_LOSS,
    OperatorError: Code.INTERNAL,
    AddressUnusable: Code.INTERNAL,
    TlsUnusable: Code.INTERNAL,
    BadBusUrl: Code.INTERNAL,
    BusUnusable: Code.INTERNAL,
    BadDatabaseUrl: Code.INTERNAL,
    DatabaseUnusable: Code.INTERNAL,
    DatabaseTooNew: Code.INTERNAL,
    DatabaseGone: Code.INTERNAL,
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
    code = next((CODES[kind] for kind in type(error).__mro__ if kind in CODES), Code.INTERNAL)
    return _status(code, str(error), [info, *_further_details(error)])


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
