"""Failed calls of a client: what a gRPC error means, in words for the user."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import grpc
import grpc.aio

from noughts_proto.error_details import error_info
from noughts_proto.errors import ExplainedError
from noughts_proto.security import failed_handshake, why_hung_up
from noughts_proto.unreachable import why_unreachable

DEADLINE_SECONDS = 10.0
"""The usual time limit of a call."""
TEMPORARY_CODES = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
"""A stream that failed in one of these ways can be opened again."""
NO_HINTS: Mapping[grpc.StatusCode, str] = MappingProxyType({})
_REFUSALS = (
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.ALREADY_EXISTS,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)


@dataclass(eq=False)
class CallFailed(ExplainedError):
    """A call that failed, with its status and a message for the user."""

    code: grpc.StatusCode
    message: str
    hint: str = ""
    """Advice for the user; empty if there is none."""
    has_token: bool = True
    field: str = ""
    """The path of the wrong field of the request, e.g. `tournament.time.bank_us`; empty if none is known."""
    expected: str = ""
    """The correct form of that field."""
    agent_hint: str = ""
    """Advice for an agent, which has tools in place of commands; empty if `hint` names no command."""
    subject: str = ""
    """What the message is about, e.g. `tournaments/spring`; empty if nothing fits."""

    def __str__(self) -> str:
        return self.message

    @property
    def is_refusal(self) -> bool:
        """Whether the server answered and refused this request; another request can succeed."""
        return self.code in _REFUSALS

    @property
    def lacks_token(self) -> bool:
        """Whether the call needed a token and had none."""
        return self.code is grpc.StatusCode.UNAUTHENTICATED and not self.has_token


def explain_call(
    error: Any,
    address: str,
    hints: Mapping[grpc.StatusCode, str] = NO_HINTS,
    *,
    has_token: bool = True,
    seconds: float = DEADLINE_SECONDS,
) -> CallFailed:
    """Return the meaning of a gRPC error, in the server's own words if it sent any.

    `hints` is advice for errors that the server does not explain, by status. `seconds` was the call's deadline.
    """
    # The errors of blocking calls are instances of grpc.Call, which gRPC's type stubs do not declare.
    is_grpc_error = isinstance(error, grpc.Call | grpc.aio.AioRpcError)
    code = error.code() if is_grpc_error else grpc.StatusCode.UNKNOWN
    details = (error.details() if is_grpc_error else "") or code.name
    info = error_info(error)
    if info is not None:
        subject = info.metadata.get("subject", "")
        field = subject if code is grpc.StatusCode.INVALID_ARGUMENT else ""
        return CallFailed(
            code,
            details,
            hint=info.metadata.get("hint", ""),
            expected=info.metadata.get("expected", ""),
            has_token=has_token,
            field=field,
            agent_hint=info.metadata.get("agent_hint", ""),
            subject=subject,
        )
    if problem := failed_handshake(address, details):
        return CallFailed(code, str(problem), problem.advice)
    hint = hints.get(code, "")
    if code is grpc.StatusCode.UNAVAILABLE:
        if reason := why_hung_up(details):
            hint = f"{hint} {reason[0].upper()}{reason[1:]}.".lstrip()
        return CallFailed(code, f"server {address} cannot be reached: {why_unreachable(details)}", hint)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return CallFailed(code, f"server {address} did not answer within {seconds:.0f} s", hint)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return CallFailed(code, f"server {address} does not support this call", hint)
    return CallFailed(code, f"server {address}: {details} ({code.name})", hint, has_token=has_token)
