"""Wrong messages on the bus of a cluster: each is like a right one, but with something missing or impossible."""

import asyncio
from collections.abc import Iterator
from typing import Any

import nats
from nats.aio.msg import Msg

from noughts_proto.v1 import cluster_pb2 as pb

_PAUSE = 0.002
_SUBJECTS = ("noughts.servers", "noughts.referees", "noughts.wants")


async def forged_messages(target: Any) -> None:
    """An attacker on the bus sends wrong messages under every subject, as fast as the nodes send right ones."""
    bus = await nats.connect(target.bus)
    longest: dict[str, bytes] = {}
    """The longest message of a node under each subject, as the model for wrong ones."""
    own_messages: set[bytes] = set()

    async def keep(message: Msg) -> None:
        known = longest.get(message.subject, b"")
        if len(message.data) > len(known) and message.data not in own_messages:
            longest[message.subject] = message.data

    await bus.subscribe("noughts.>", cb=keep)
    try:
        while True:
            for subject in (*longest, *_SUBJECTS):
                for message in wrong_messages(subject, longest.get(subject, b"")):
                    own_messages.add(message)
                    await bus.publish(subject, message)
                    target.counts["messages"] += 1
                    await asyncio.sleep(_PAUSE)
            longest.clear()
            own_messages.clear()
            await asyncio.sleep(0.1)
    finally:
        await bus.close()


def wrong_messages(subject: str, data: bytes) -> Iterator[bytes]:
    """Yield wrong versions of `data`, a right message of this subject or empty."""
    yield b"\xff" * 40
    yield data[:-1]
    if subject.startswith("noughts.asks."):
        yield from _with_short_columns(pb.ClusterAsks.FromString(data))
        asks = pb.ClusterAsks(referee="nobody")
        asks.bots.add(version=1).starts.add(tournament=1, game=[1], ordinal=[1], first=[999], second=[1])
        yield asks.SerializeToString()
    if subject.startswith("noughts.answers."):
        yield from _with_short_columns(pb.ClusterAnswers.FromString(data))


def _with_short_columns(message: pb.ClusterAsks | pb.ClusterAnswers) -> Iterator[bytes]:
    """Yield the message once for each column, with this column one row shorter than the others."""
    for bot in message.bots:
        for part in (bot, *getattr(bot, "starts", ())):
            for field, value in part.ListFields():
                if field.is_repeated:
                    last = value.pop()
                    yield message.SerializeToString()
                    value.append(last)
