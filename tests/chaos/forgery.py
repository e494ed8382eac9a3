"""Messages of a cluster's bus that no node would send."""

import asyncio
from collections.abc import Iterator
from typing import Any

import nats
from nats.aio.msg import Msg

from noughts_proto.v1 import cluster_pb2 as pb

_PAUSE = 0.002
_ALWAYS = ("noughts.servers", "noughts.referees", "noughts.wants")


async def forged_messages(target: Any) -> None:
    """An attacker on the bus sends wrong messages under every subject, as fast as the nodes send right ones."""
    bus = await nats.connect(target.bus)
    seen: dict[str, bytes] = {}

    async def keep(message: Msg) -> None:
        known = seen.get(message.subject, b"")
        if len(message.data) > len(known) and message.data not in sent:
            seen[message.subject] = message.data

    sent: set[bytes] = set()
    await bus.subscribe("noughts.>", cb=keep)
    try:
        while True:
            for subject in (*seen, *_ALWAYS):
                for message in forged(subject, seen.get(subject, b"")):
                    sent.add(message)
                    await bus.publish(subject, message)
                    target.counts["messages"] += 1
                    await asyncio.sleep(_PAUSE)
            seen.clear()
            sent.clear()
            await asyncio.sleep(0.1)
    finally:
        await bus.close()


def forged(subject: str, data: bytes) -> Iterator[bytes]:
    """Wrong messages like the right one `data` of this subject."""
    yield b"\xff" * 40
    yield data[:-1]
    if subject.startswith("noughts.asks."):
        yield from _uneven(pb.ClusterAsks.FromString(data))
        asks = pb.ClusterAsks(referee="nobody")
        asks.bots.add(version=1).starts.add(tournament=1, game=[1], ordinal=[1], first=[999], second=[1])
        yield asks.SerializeToString()
    if subject.startswith("noughts.answers."):
        yield from _uneven(pb.ClusterAnswers.FromString(data))


def _uneven(message: pb.ClusterAsks | pb.ClusterAnswers) -> Iterator[bytes]:
    """The message with one column after the other a row shorter."""
    for bot in message.bots:
        for part in (bot, *getattr(bot, "starts", ())):
            for field, value in part.ListFields():
                if field.is_repeated:
                    last = value.pop()
                    yield message.SerializeToString()
                    value.append(last)
