"""Following a feed: the stream, its view, and coming back after a failure."""

import time
from typing import Any, Protocol

import grpc

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.cli.client import CallFailed, Client, explain_call

_FIRST_WAIT, _LONGEST_WAIT = 0.2, 5.0
# Coming back helps against these.
_PASSING = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)


class Show(Protocol):
    """Where what happens is shown."""

    def message(self, message: pb.WatchResponse, view: View) -> None:
        """A message that has come; the view does not include it yet."""

    def lost(self, reason: str) -> None:
        """The connection is lost, and is tried again."""


def follow(client: Client, name: str, show: Show) -> None:
    """Shows what is watched until it is over. Raises CallFailed when the server refuses, or was never reached."""
    view = View()
    request = pb.WatchRequest(name=name)
    wait = _FIRST_WAIT
    while True:
        try:
            for message in client.feed.Watch(request):
                wait = _FIRST_WAIT
                show.message(message, view)
                request.epoch, request.from_sequence = message.epoch, message.sequence
                if message.HasField("resync"):
                    # Without its snapshot it must not be resumed from here.
                    request.epoch = request.from_sequence = 0
            return
        except grpc.RpcError as error:
            failed = CallFailed(explain_call(error, client.address), _code(error))
            if failed.code not in _PASSING or not view.seen:
                raise failed from error
            show.lost(failed.message)
        time.sleep(wait)
        wait = min(2 * wait, _LONGEST_WAIT)


def _code(error: Any) -> grpc.StatusCode:
    return error.code() if isinstance(error, grpc.Call) else grpc.StatusCode.UNKNOWN
