"""Details of an error that a server adds to the status of a call, in addition to its sentence."""

from typing import Any

import grpc
from google.protobuf.message import DecodeError
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status

_DETAILS_KEY = "grpc-status-details-bin"


def error_info(error: Any) -> ErrorInfo | None:
    """Domain, reason and metadata of a failed call; None where there are none, or not those of this status."""
    if not isinstance(error, grpc.Call | grpc.aio.AioRpcError):
        return None
    packed = dict(error.trailing_metadata() or ()).get(_DETAILS_KEY, b"")
    try:
        status = Status.FromString(packed if isinstance(packed, bytes) else b"")
    except DecodeError:  # not from our server
        return None
    if (status.code, status.message) != (error.code().value[0], error.details()):
        return None
    for detail in status.details:
        info = ErrorInfo()
        if detail.Unpack(info):
            return info
    return None
