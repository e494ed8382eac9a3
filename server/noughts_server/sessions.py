"""Who is online: the wires of all bots that ever logged in, and the tickets of those that are about to."""

import secrets
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import grpc

from noughts_referee.referee import Referee
from noughts_referee.remote import RemoteWire, StreamClosed, WireCounts, WireSettings
from noughts_server.bus import Bus

PRESENCE = "sessions.presence"
"""Subject on which the key of a bot version is published when it comes or goes."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """The right to log in once, as this bot of this owner."""

    owner: int
    bot: str
    version: str = "1"


class Present(NamedTuple):
    """A bot version with a stream."""

    version: str
    """`bots/NAME/versions/V`."""
    games: int
    """In flight."""


class Sessions:
    """The wires of this server, by key of the bot version."""

    def __init__(self, referee: Referee, bus: Bus, settings: WireSettings) -> None:
        self.settings = settings
        self.counts = WireCounts()
        self._referee = referee
        self._bus = bus
        self._wires: dict[int, RemoteWire] = {}
        self._bots: dict[int, int] = {}
        """The bot of each version that ever logged in."""
        self._names: dict[int, str] = {}
        """`bots/NAME/versions/V` of each of them."""
        self._tickets: dict[str, Ticket] = {}

    def wire(self, version: int) -> RemoteWire:
        """The wire of a bot version, made at first sight."""
        wire = self._wires.get(version)
        if wire is None:
            player = self._referee.player(version)
            wire = self._wires[version] = RemoteWire(player, self._referee, self.settings, self.counts)
            wire.on_presence = partial(self._bus.publish, PRESENCE, version)
        return wire

    def online(self, version: int) -> bool:
        """Whether the bot version has a stream now."""
        wire = self._wires.get(version)
        return wire is not None and wire.online

    def logged_in(self, version: int, bot: int, name: str) -> RemoteWire:
        """The wire of a bot version that has just logged in; `name` is `bots/NAME/versions/V`."""
        self._bots[version] = bot
        self._names[version] = name
        return self.wire(version)

    def bots_online(self) -> set[int]:
        """The bots that have a stream now, in whatever version."""
        return {bot for version, bot in self._bots.items() if self.online(version)}

    def name(self, version: int) -> str:
        """`bots/NAME/versions/V` of a bot version that ever logged in; empty of any other."""
        return self._names.get(version, "")

    def present(self) -> list[Present]:
        """The bot versions that have a stream now."""
        return [
            Present(self.name(version), len(wire.player.games)) for version, wire in self._wires.items() if wire.online
        ]

    def close_all(self, closed: StreamClosed) -> None:
        """Ends every stream, and says why; nobody's grace runs on afterwards."""
        for wire in self._wires.values():
            wire.shut(closed)

    def issue_ticket(self, ticket: Ticket) -> str:
        """A secret that logs the bot in once."""
        secret = f"ticket_{secrets.token_urlsafe(24)}"
        self._tickets[secret] = ticket
        return secret

    def redeem_ticket(self, secret: str) -> Ticket | None:
        """The ticket, which is used up by this; None if there is none such."""
        return self._tickets.pop(secret, None)


def server_stopping() -> StreamClosed:
    """What bots are told when the server goes down; they come back by themselves."""
    return StreamClosed(
        grpc.StatusCode.UNAVAILABLE, "DRAINING", "the server is shutting down: log in again later", retry_seconds=5.0
    )
