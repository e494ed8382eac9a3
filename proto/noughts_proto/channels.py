"""Several addresses of one service: each call goes to a server that is connected, the current one if it is.

gRPC knows several addresses of one name only, and checks the certificates of all of them for that name. Here each
address has a channel of its own.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import grpc
import grpc.aio

_MOST_SECONDS = 5.0
"""For a connection to one address, if there are others."""
_HEALTH = "/grpc.health.v1.Health/Check"
_UNREACHED = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
_FAILED = (grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN)


class _Channels:
    """Has the methods of a channel by which stubs make calls."""

    def __init__(self, channels: Sequence[Any]) -> None:
        self._channels = channels
        self._current = 0

    def unary_unary(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._method("unary_unary", given, named)

    def unary_stream(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._method("unary_stream", given, named)

    def stream_unary(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._method("stream_unary", given, named)

    def stream_stream(self, *given: Any, **named: Any) -> Callable[..., Any]:
        return self._method("stream_stream", given, named)

    def _method(self, kind: str, given: tuple[Any, ...], named: dict[str, Any]) -> Callable[..., Any]:
        methods = [getattr(channel, kind)(*given, **named) for channel in self._channels]
        return lambda *request, **options: methods[self._choose()](*request, **options)

    def _choose(self) -> int:
        """The place of the channel for the next call."""
        return self._current

    def _others_last(self) -> list[int]:
        places = range(len(self._channels))
        return [*places[self._current :], *places[: self._current]]


class BlockingChannels(_Channels):
    """For blocking calls: each looks for a server that answers first."""

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
    """For the running event loop. Callers await `connect` before each call."""

    async def connect(self) -> None:
        """Chooses the channel of the next calls. One that is the only one reports a failed connection itself."""
        for place in self._others_last() if len(self._channels) > 1 else ():
            if await _connects(self._channels[place]):
                self._current = place
                return

    async def close(self) -> None:
        """Ends all calls."""
        for channel in self._channels:
            await channel.close()


def _answers(channel: grpc.Channel) -> bool:
    """Tell whether a server answers on this channel, even if only that it has no health service.

    To watch the channel's state, gRPC starts a thread, which raises an exception if the channel is closed meanwhile.
    """
    # Without a message type, it sends and returns bytes.
    check: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_HEALTH)
    call: Any = check.future(b"", timeout=_MOST_SECONDS)  # a call as well, which its published type does not say
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
