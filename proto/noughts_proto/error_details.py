"""Details of an error that a server sends in addition to the status and its message."""

from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

_DETAILS_KEY = "grpc-status-details-bin"


def error_info(error: Any) -> ErrorInfo | None:
    """Return the domain, reason and metadata of a failed call; None without details, or if they do not match."""
    if not isinstance(error, grpc.Call | grpc.aio.AioRpcError):
        return None
    packed = dict(error.trailing_metadata() or ()).get(_DETAILS_KEY, b"")
    try:
        status = Status.FromString(packed if isinstance(packed, bytes) else b"")
    except DecodeError:  # another program than Noughts answered
        return None
    if (status.code, status.message) != (error.code().value[0], error.details()):
        return None
    for detail in status.details:
        info = ErrorInfo()
        if detail.Unpack(info):
            return info
    return None
