"""The channels that follow each slot."""

from collections import defaultdict
from typing import TYPE_CHECKING

from noughts_proto.v1 import feed_pb2 as pb
from noughts_server.feed.observer import Observed, SlotKey

if TYPE_CHECKING:
    from noughts_server.feed.channel import Channel


class SlotFollowers:
    """The channels of each followed slot, which also controls the observer."""

    def __init__(self, observer: Observed) -> None:
        self._observer = observer
        self._channels: defaultdict[SlotKey, list[Channel]] = defaultdict(list)

    def __bool__(self) -> bool:
        return bool(self._channels)

    def __contains__(self, slot: tuple[int, int]) -> bool:
        """Return whether any channel follows the slot."""
        return slot in self._channels

    def of(self, slot: SlotKey) -> "tuple[Channel, ...]":
        """Return the channels that follow the slot."""
        return tuple(self._channels.get(slot, ()))

    def follow(self, slot: SlotKey, channel: "Channel") -> pb.WatchedGame | None:
        """Send all further events of the slot to the channel. Return its game if that is running."""
        self._channels[slot].append(channel)
        return self._observer.want(slot)

    def leave(self, slot: SlotKey, channel: "Channel") -> None:
        """Undo `follow`."""
        self._channels[slot].remove(channel)
        if not self._channels[slot]:
            del self._channels[slot]
        self._observer.unwant(slot)
