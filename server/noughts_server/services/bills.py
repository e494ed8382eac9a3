"""The cost of an answer to its caller: the bytes of the answer, and `ROW_BYTES` for each row of a list."""

import asyncio

from google.protobuf.message import Message

from noughts_server.services.access import Visitor
from noughts_server.services.limiter import Limiter

ROW_BYTES = 1_000
"""Bytes that each row of a list costs in addition to its length, because even an empty row takes time."""
_LONGEST_WAIT_SECONDS = 2.0
"""The longest delay of an answer because of the caller's limit.

A client that requests one page after another waits less.
"""


class Bill:
    """The cost of one answer: `grant` charges for its possible rows, and `settle` corrects the charge to its size."""

    def __init__(self, limiter: Limiter, visitor: Visitor) -> None:
        self._limiter = limiter
        self._name = "address_answer_bytes"
        self._payer = visitor.payer
        whom = f"without a token to {visitor.payer}"
        if visitor.caller is not None:
            self._name = "token_answer_bytes"
            self._payer = visitor.caller.owner
            whom = "with your tokens"
        self._subject = f"bytes a second in answers {whom}"
        self._charged = 0
        # A website watches each resource once for all its visitors, and limits their streams itself.
        self._is_free = visitor.ticket or (bool(visitor.site) and not visitor.guest and visitor.caller is None)

    async def grant(self, rows: int) -> None:
        """Wait until the caller's limit permits an answer with this number of rows, and charge for them.

        Raises LimitReached.
        """
        if self._is_free:
            return
        while (wait := self._limiter.wait_seconds(self._name, self._payer)) > 0:
            if wait > _LONGEST_WAIT_SECONDS:
                self._limiter.take(self._name, self._payer, self._subject, 0)  # raises LimitReached
            await asyncio.sleep(wait)
        self._charge(rows * ROW_BYTES)

    def settle(self, answer: Message, size: int) -> None:
        """Charge an answer of `size` bytes."""
        self._charge(size + _rows_of(answer) * ROW_BYTES)

    def settle_bytes(self, size: int) -> None:
        """Charge the first messages of a stream, which have `size` bytes in all, and `ROW_BYTES` for the stream."""
        self._charge(size + ROW_BYTES)

    def settle_refusal(self) -> None:
        """Charge a call that got an error instead of an answer."""
        self._charge(ROW_BYTES)

    def _charge(self, amount: int) -> None:
        """Charge the difference between `amount` and the charge so far."""
        if not self._is_free:
            self._limiter.charge(self._name, self._payer, amount - self._charged)
            self._charged = amount


def _rows_of(answer: Message) -> int:
    """Return the number of messages in the lists of an answer."""
    present = answer.ListFields()
    return sum(len(value) for field, value in present if field.is_repeated and field.message_type is not None)
