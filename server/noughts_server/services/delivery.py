"""Delivery of answers: counts the bytes that callers leave unread, and cuts off callers that do not read.

An answer is delivered when the operating system has all its bytes. Until then it is in memory, because an HTTP/2 client
decides when to read it, and gRPC waits until the connection ends.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from noughts_server.core.errors import LimitReached
from noughts_server.core.limits import Limits
from noughts_server.services.access import Context, Visitor, when_done
from noughts_server.services.connections import Peer, peer_of

ANSWER_BYTES = 32_000
"""Bytes that each answer counts in addition to its length, because even an empty call takes memory."""
_RETRY_SECONDS = 1.0


class Delivery:
    """The answers that callers have not read yet."""

    def __init__(self, limits: Limits, reset: Callable[[Peer], None], seconds: float, refused: Counter[str]) -> None:
        """`reset` closes the connection of a caller that takes longer than `seconds` to read an answer.

        `refused` counts exceeded limits by name.
        """
        self._limits = limits
        self._reset = reset
        self._refused = refused
        self._seconds = seconds
        self._answers: dict[_Answer, None] = {}
        """The answers that are counted, the oldest first."""
        self._unread: Counter[str] = Counter()
        """Unread bytes by account."""

    def count_answer(self, context: Context, visitor: Visitor, size: int) -> None:
        """Count an answer of `size` bytes until it is delivered. Raises LimitReached."""
        answer = _Answer(visitor.account, size + ANSWER_BYTES, context.peer())
        unread = self._unread[answer.account] + answer.size
        limit = self._limits.caller_unread_bytes
        if unread > limit:
            subject = f"bytes of unread answers of {answer.account}"
            raise LimitReached("caller_unread_bytes", subject, got=unread, limit=limit, retry_seconds=_RETRY_SECONDS)
        self._answers[answer] = None
        self._unread[answer.account] += answer.size
        when_done(context, partial(self._forget, answer))
        self._free_memory()
        self.limit_rest(context)

    def limit_rest(self, context: Context) -> None:
        """Cut off the caller if it does not read the rest of a call (its answer and its status) in time."""
        timer = asyncio.get_running_loop().call_later(self._seconds, self.cut_off, context.peer())
        when_done(context, timer.cancel)

    @contextmanager
    def limit_message(self, context: Context) -> Iterator[None]:
        """Cut off the caller if it does not read the stream's message that the block writes in time."""
        timer = asyncio.get_running_loop().call_later(self._seconds, self.cut_off, context.peer())
        try:
            yield
        finally:
            timer.cancel()

    def cut_off(self, peer: str) -> None:
        """Close the connection of a caller that does not read: gRPC has no other way to end the call."""
        self._refused["unread_bytes"] += 1
        self._reset(peer_of(peer))

    def _free_memory(self) -> None:
        """While there are too many unread bytes in all, cut off the oldest answer of the account with the most."""
        while self._unread.total() > self._limits.unread_bytes and len(self._answers) > 1:
            ((greediest, _),) = self._unread.most_common(1)
            oldest = next(answer for answer in self._answers if answer.account == greediest)
            self._forget(oldest)
            self.cut_off(oldest.peer)

    def _forget(self, answer: "_Answer") -> None:
        if answer in self._answers:
            del self._answers[answer]
            self._unread[answer.account] -= answer.size
            if not self._unread[answer.account]:
                del self._unread[answer.account]


@dataclass(eq=False, frozen=True, slots=True)
class _Answer:
    account: str
    size: int
    peer: str
