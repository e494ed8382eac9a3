"""The conversion of errors to the gRPC statuses that callers get. No other module does this."""

from collections.abc import Mapping

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure, RetryInfo
from google.rpc.status_pb2 import Status

from noughts_server.core import errors

DOMAIN = "noughts"
"""The domain of every `google.rpc.ErrorInfo` of this server."""

INTERNAL_REASON = "INTERNAL"
"""The reason of errors whose details are only in the server's log."""

CODES: Mapping[type[errors.NoughtsError], int] = {
    errors.InvalidArgument: Code.INVALID_ARGUMENT,
    errors.Unauthenticated: Code.UNAUTHENTICATED,
    errors.PermissionDenied: Code.PERMISSION_DENIED,
    errors.NotFound: Code.NOT_FOUND,
    errors.UnknownMethod: Code.UNIMPLEMENTED,
    errors.AlreadyExists: Code.ALREADY_EXISTS,
    errors.RequestConflict: Code.ALREADY_EXISTS,
    errors.WrongState: Code.FAILED_PRECONDITION,
    errors.ProtocolUnsupported: Code.FAILED_PRECONDITION,
    errors.ResourceExhausted: Code.RESOURCE_EXHAUSTED,
    errors.Unavailable: Code.UNAVAILABLE,
    errors.DatabaseDamaged: Code.DATA_LOSS,
    errors.OperatorError: Code.INTERNAL,
}
"""An error without a row has the code of its parent."""


def code_of(kind: type[errors.NoughtsError]) -> int:
    """Return the code of this kind of error."""
    return next(CODES[parent] for parent in kind.__mro__ if parent in CODES)


def to_status(error: BaseException) -> Status:
    """Return the status of `error` for a caller over the network.

    It always has an ErrorInfo (domain `noughts`). Some errors add a BadRequest, PreconditionFailure or RetryInfo. For
    an OperatorError, and for errors that are not a NoughtsError, it only reports an internal error.
    """
    if not isinstance(error, errors.NoughtsError) or isinstance(error, errors.OperatorError):
        info = ErrorInfo(reason=INTERNAL_REASON, domain=DOMAIN)
        return _status(Code.INTERNAL, "internal error; the server's log has more", [info])
    info = ErrorInfo(reason=error.reason, domain=DOMAIN, metadata=_metadata(error))
    return _status(code_of(type(error)), str(error), [info, *_further_details(error)])


def _status(code: int, message: str, details: list[Message]) -> Status:
    status = Status(code=code, message=message)
    for detail in details:
        status.details.add().Pack(detail)
    return status


def _metadata(error: errors.NoughtsError) -> dict[str, str]:
    fields = {
        "subject": error.subject,
        "got": error.got,
        "expected": error.expected,
        "hint": error.hint,
        "agent_hint": error.agent_hint,
    }
    if isinstance(error, errors.ProtocolUnsupported):
        fields |= {"minimum": str(error.minimum), "maximum": str(error.maximum)}
    elif isinstance(error, errors.LimitReached):
        fields |= {"limit": error.name}
    return {name: text for name, text in fields.items() if text}


def _further_details(error: errors.NoughtsError) -> list[Message]:
    if isinstance(error, errors.InvalidArgument):
        text = f"got {error.got!r}, expected {error.expected}"
        return [BadRequest(field_violations=[{"field": error.subject, "description": text}])]
    if isinstance(error, errors.WrongState | errors.ProtocolUnsupported):
        kind = "STATE" if isinstance(error, errors.WrongState) else "PROTOCOL"
        violation = PreconditionFailure.Violation(type=kind, subject=error.subject, description=str(error))
        return [PreconditionFailure(violations=[violation])]
    if isinstance(error, errors.Unavailable | errors.LimitReached):
        delay = Duration()
        delay.FromMilliseconds(round(error.retry_seconds * 1000))
        return [RetryInfo(retry_delay=delay)]
    return []
