"""Several addresses of one service. Each call goes to a connected server, if possible to the current one.

gRPC supports several addresses only for one name, and checks all certificates for that name. Here each address has its
own channel.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio

_MOST_SECONDS = 5.0
"""Time limit of a connection to one address, if there are others."""
_HEALTH = "/grpc.health.v1.Health/Check"
_UNREACHED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_FAILED = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)


class _Channels:
    """Several channels with the methods of one, which stubs use to make calls."""

    def __init__(self, channels: Sequence[Any]) -> None:
        self._channels = channels
        self._current = 0

    def unary_unary(self, *arguments: Any, **named: Any) -> Callable[..., Any]:
        return self._method("unary_unary", arguments, named)

    def unary_stream(self, *arguments: Any, **named: Any) -> Callable[..., Any]:
        return self._method("unary_stream", arguments, named)

    def stream_unary(self, *arguments: Any, **named: Any) -> Callable[..., Any]:
        return self._method("stream_unary", arguments, named)

    def stream_stream(self, *arguments: Any, **named: Any) -> Callable[..., Any]:
        return self._method("stream_stream", arguments, named)

    def _method(self, kind: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Callable[..., Any]:
        methods = [getattr(channel, kind)(*arguments, **named) for channel in self._channels]
        return lambda *request, **options: methods[self._choose()](*request, **options)

    def _choose(self) -> int:
        """Return the index of the channel for the next call."""
        return self._current

    def _others_last(self) -> list[int]:
        """Return the indices of all channels, beginning with the current one."""
        places = range(len(self._channels))
        return [*places[self._current :], *places[: self._current]]


class BlockingChannels(_Channels):
    """Channels for blocking calls. Each call first looks for a server that answers."""

    def _choose(self) -> int:
        places = self._others_last()
        self._current = next((place for place in places if _answers(self._channels[place])), self._current)
        return self._current

    def __enter__(self) -> "BlockingChannels":
        return self

    def __exit__(self, *_: object) -> None:
        for channel in self._channels:
            channel.close()


class AsyncChannels(_Channels):
    """Channels for the running event loop. Callers await `connect` before each call."""

    async def connect(self) -> None:
        """Choose the channel of the next calls. A single channel is not checked: the call reports a failure."""
        for place in self._others_last() if len(self._channels) > 1 else ():
            if await _connects(self._channels[place]):
                self._current = place
                return

    async def close(self) -> None:
        """Close the channels, and end all calls."""
        for channel in self._channels:
            await channel.close()


def _answers(channel: grpc.Channel) -> bool:
    """Return whether a server answers on this channel. An error for a missing health service is also an answer.

    Watching the channel's state instead would start a thread of gRPC, which fails if the channel is closed meanwhile.
    """
    # Without a message type, it sends and returns bytes.
    check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_HEALTH)
    call: Any = check.future(b"", timeout=_MOST_SECONDS)  # it is also a call, but its type stub omits this
    return call.code() not in _UNREACHED


async def _connects(channel: grpc.aio.Channel) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(_MOST_SECONDS):
            while (state := channel.get_state(try_to_connect=True)) is not grpc.ChannelConnectivity.READY:
                if state in _FAILED:
                    return False
                await channel.wait_for_state_change(state)
            return True
    return False
