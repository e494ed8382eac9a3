"""Watchers of a cluster, which record gaps: each message must follow the one before it, or be a restart."""

import asyncio
from contextlib import suppress

import grpc
import grpc.aio

from noughts_proto.feed_view import View
from noughts_proto.v1 import feed_pb2 as pb
from noughts_proto.v1 import feed_pb2_grpc


class Observer:
    """Watches one name at one server, and reconnects when its stream ends."""

    def __init__(self, address: str, name: str) -> None:
        self.view = View()
        self.messages = 0
        self.plies = 0
        self.gaps: list[str] = []
        self.resyncs = 0
        self.over = False
        self._address = address
        self.name = name
        self._sequence = self._epoch = 0

    async def watch(self) -> None:
        """Watch until the task is cancelled or the tournament or game is over."""
        async with grpc.aio.insecure_channel(self._address) as channel:
            stub = feed_pb2_grpc.FeedServiceStub(channel)
            while not self.over:
                request = pb.WatchRequest(name=self.name, from_sequence=self._sequence, epoch=self._epoch)
                with suppress(grpc.aio.AioRpcError):
                    async for message in stub.Watch(request):
                        self._take(message)
                    self.over = True
                await asyncio.sleep(0.1)

    def _take(self, message: pb.WatchResponse) -> None:
        self.messages += 1
        kind = message.WhichOneof("event")
        if kind == "resync":
            self.resyncs += 1
        elif kind == "increments":
            if message.epoch != self._epoch or message.sequence != self._sequence + 1:
                self.gaps.append(f"message {message.sequence} after {self._sequence}")
            for ply in message.increments.plies:
                self.plies += 1
                known = self.view.games.get(ply.game)
                begun = [game for game in message.increments.games if game.name == ply.game]
                # The moves of the game before this message; -1 if the observer has not seen the game yet.
                length = -1
                if begun:
                    length = len(begun[0].moves)
                elif known is not None:
                    length = len(known.moves)
                plies_of_game = [other.ply for other in message.increments.plies if other.game == ply.game]
                before = [number for number in plies_of_game if number < ply.ply]
                if length >= 0 and ply.ply != length + len(before):
                    self.gaps.append(f"{ply.game}: ply {ply.ply} after {length} and {before}")
        self.view.take(message)
        self._sequence, self._epoch = message.sequence, message.epoch
