"""The tree of errors, and the statuses that callers get for them."""

import gc
import re
from collections.abc import Iterator

import pytest
from google.protobuf.message import Message
from google.rpc.code_pb2 import Code
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure, RetryInfo
from google.rpc.status_pb2 import Status

from noughts_server.core import errors
from noughts_server.core.statuses import CODES, to_status

EXAMPLES = (
    errors.InvalidArgument.of("tournament.variant", "chess", "`tictactoe` or `mnk:M,N,K`"),
    errors.Unauthenticated(),
    errors.TokenRevoked(),
    errors.TokenExpired(),
    errors.PermissionDenied("bots/ada"),
    errors.InvitationRefused("used up"),
    errors.ScopeMissing("token", "play:ada", "organise", hint="Make another."),
    errors.NotFound("tournaments/42"),
    errors.AlreadyExists("tournaments/42"),
    errors.RequestConflict("request_id", "r1"),
    errors.WrongState("tournaments/42", got="running", expected="open"),
    errors.ProtocolUnsupported(minimum=1, maximum=1, got=2),
    errors.ResourceExhausted("games", got=11, limit=10),
    errors.LimitReached("bots", "bots of yours", got=11, limit=10, retry_seconds=60.0),
    errors.TooManyEntries("tournaments/42", got=4_097, limit=4_096),
    errors.Unavailable("not now"),
    errors.Draining(),
    errors.MachineExhausted("its disk is full", "Free some space.", "[Errno 28] No space left: /secret/place"),
    errors.DatabaseUnavailable(),
    errors.DatabaseBusy(),
    errors.DatabaseFull("database or disk is full"),
    errors.DatabaseReadOnly(),
    errors.DatabaseForbidden(),
    errors.DatabaseFailing("disk I/O error"),
    errors.DatabaseUnreachable("connection refused"),
    errors.DatabaseDamaged("database disk image is malformed"),
    errors.UnknownMethod("method", "/noughts.v1.PlayService/Win", "a method of noughts.v1"),
)
OPERATOR_ERRORS = (
    errors.OperatorError("something"),
    errors.AddressUnusable("/secret/place:1"),
    errors.TlsUnusable("/secret/place", got="nothing", expected="a certificate", hint="Make one."),
    errors.BadBusUrl("/secret/place", expected="something else"),
    errors.BusUnusable("nats://secret", "it does not answer"),
    errors.BadDatabaseUrl("/secret/place", expected="something else"),
    errors.DatabaseUnusable("/secret/place", "is damaged"),
    errors.DatabaseTooNew("/secret/place", "9999", "0001"),
    errors.DatabaseGone("/secret/place", "it was deleted"),
)


def subclasses(root: type[errors.NoughtsError] = errors.NoughtsError) -> Iterator[type[errors.NoughtsError]]:
    """Yield the classes of all named errors: direct and indirect subclasses."""
    for kind in root.__subclasses__():
        yield kind
        yield from subclasses(kind)


def details(status: Status) -> list[Message]:
    kinds = {kind.DESCRIPTOR.full_name: kind for kind in (ErrorInfo, BadRequest, PreconditionFailure, RetryInfo)}
    unpacked: list[Message] = []
    for packed in status.details:
        detail = kinds[packed.TypeName()]()
        packed.Unpack(detail)
        unpacked.append(detail)
    return unpacked


def info(status: Status) -> ErrorInfo:
    first = details(status)[0]
    assert isinstance(first, ErrorInfo)
    return first


def test_every_error_has_a_code() -> None:
    assert [kind for kind in subclasses() if CODES.keys().isdisjoint(kind.__mro__)] == []


def test_error_class_without_a_code_of_its_own_has_its_parents() -> None:
    class Elsewhere(errors.NotFound):
        reason = "ELSEWHERE"

    try:
        assert to_status(Elsewhere("tournaments/1")).code == Code.NOT_FOUND
    finally:
        # Other tests go through all subclasses, so this one must not remain.
        del Elsewhere
        gc.collect()


def test_every_error_has_a_reason_of_its_own() -> None:
    reasons = [vars(kind).get("reason", "") for kind in subclasses()]
    assert all(re.fullmatch(r"[A-Z][A-Z_]+", reason) for reason in reasons)
    assert len(set(reasons)) == len(reasons)


def test_examples_cover_the_tree() -> None:
    assert {type(error) for error in (*EXAMPLES, *OPERATOR_ERRORS)} == set(subclasses())


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: error.reason)
def test_status_names_reason_subject_and_hint(error: errors.NoughtsError) -> None:
    status = to_status(error)
    assert status.code not in (Code.OK, Code.UNKNOWN, Code.INTERNAL)
    assert status.message == str(error)
    assert (info(status).reason, info(status).domain) == (error.reason, "noughts")
    texts = {
        "subject": error.subject,
        "got": error.got,
        "expected": error.expected,
        "hint": error.hint,
        "agent_hint": error.agent_hint,
    }
    if isinstance(error, errors.ProtocolUnsupported):
        texts |= {"minimum": str(error.minimum), "maximum": str(error.maximum)}
    if isinstance(error, errors.LimitReached):
        texts |= {"limit": error.name}
    assert dict(info(status).metadata) == {name: text for name, text in texts.items() if text}


@pytest.mark.parametrize("error", OPERATOR_ERRORS, ids=lambda error: error.reason)
def test_callers_cannot_tell_an_operators_error_from_a_crash(error: errors.NoughtsError) -> None:
    assert to_status(error) == to_status(RuntimeError("boom"))
    assert "secret" not in str(to_status(error))


def test_unexpected_exception_is_internal_and_leaks_nothing() -> None:
    status = to_status(ValueError("SELECT * FROM tokens"))
    assert status.code == Code.INTERNAL
    assert "SELECT" not in str(status)
    assert info(status).reason == "INTERNAL"


def test_details_of_an_invalid_argument_name_the_field() -> None:
    detail = details(to_status(errors.InvalidArgument.of("title", "x" * 3, "2 characters")))[1]
    assert isinstance(detail, BadRequest)
    (violation,) = detail.field_violations
    assert (violation.field, violation.description) == ("title", "got 'xxx', expected 2 characters")


def test_wrong_state_is_a_failed_precondition_of_its_subject() -> None:
    status = to_status(errors.WrongState("tournaments/42", got="running", expected="open"))
    detail = details(status)[1]
    assert isinstance(detail, PreconditionFailure)
    assert status.code == Code.FAILED_PRECONDITION
    assert [(violation.type, violation.subject) for violation in detail.violations] == [("STATE", "tournaments/42")]


def test_unavailable_says_when_to_try_again() -> None:
    detail = details(to_status(errors.Draining(retry_seconds=2.5)))[1]
    assert isinstance(detail, RetryInfo)
    assert detail.retry_delay.ToMilliseconds() == 2_500
