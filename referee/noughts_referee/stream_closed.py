"""The reasons for which the referee ends a player's stream, as sent to the player."""

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo, RetryInfo
from google.rpc.status_pb2 import Status


class StreamClosed(Exception):
    """The referee ends the stream; `code` and `status` say why."""

    def __init__(
        self, code: grpc.StatusCode, reason: str, message: str, *, retry_seconds: float = 0.0, **metadata: str
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.status = status_of(code, reason, message, metadata)
        if retry_seconds:
            retry = RetryInfo()
            retry.retry_delay.FromMilliseconds(round(retry_seconds * 1000))
            self.status.details.add().Pack(retry)


def status_of(code: grpc.StatusCode, reason: str, message: str, metadata: dict[str, str]) -> Status:
    """Return a status with a readable message, and a reason for programs."""
    detail = AnyMessage()
    detail.Pack(ErrorInfo(reason=reason, domain="noughts", metadata=metadata))
    number: int = code.value[0]
    return Status(code=number, message=message, details=[detail])
