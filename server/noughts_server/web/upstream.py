"""The server behind the website, and what its errors mean to a browser."""

from typing import TypeVar

import grpc
import grpc.aio

from noughts_proto.security import Dialling
from noughts_server.client.async_client import AsyncClient
from noughts_server.client.failures import CallFailed

AWAY_HINT = "Running games resume when it is back, and so does this page."
_HINTS = {
    grpc.StatusCode.UNAVAILABLE: AWAY_HINT,
    grpc.StatusCode.DEADLINE_EXCEEDED: "Try again in a moment.",
    grpc.StatusCode.UNIMPLEMENTED: "It is of another version than this site.",
}
_STATUSES = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.FAILED_PRECONDITION: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}
"""HTTP statuses by gRPC status; 502 for all others."""

Request = TypeVar("Request")
Response = TypeVar("Response")


class Failure(Exception):
    """An error for the browser instead of a response."""

    def __init__(self, status: int, message: str, hint: str = "", *, field: str = "", expected: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.hint = hint
        """What to do next; empty if there is no advice."""
        self.field = field
        """The wrong field of a request or form; empty if the failure is about no single one."""
        self.expected = expected
        """What is right in that field; empty if the message says it."""


class Upstream(AsyncClient):
    """The server's services, whose errors are Failures. Must be made inside a running event loop."""

    def __init__(self, address: str, dialling: Dialling) -> None:
        super().__init__(address, dialling, _HINTS)

    async def call(
        self,
        method: "grpc.aio.UnaryUnaryMultiCallable[Request, Response]",
        request: Request,
        token: str = "",
        *,
        seconds: float | None = None,
    ) -> Response:
        """Return the method's answer, called with this token. Raises Failure."""
        try:
            return await super().call(method, request, token, seconds=seconds)
        except CallFailed as failed:
            raise _failure(failed) from failed

    def failure(self, error: grpc.aio.AioRpcError) -> Failure:
        """Return what a failed call means to a browser."""
        return _failure(self.explain(error))


def _failure(failed: CallFailed) -> Failure:
    status = _STATUSES.get(failed.code, 502)
    return Failure(status, failed.message, failed.hint, field=failed.field, expected=failed.expected)
