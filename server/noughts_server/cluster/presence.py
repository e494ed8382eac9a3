"""The logins of all servers. Each server publishes the logins of its bots, and receives those of the others.

It publishes all of them once a second, and each change at once. A bot belongs to the server on which it logged in last;
the other servers close its older streams. If that server was disconnected at the login, they close theirs when it
reconnects, even if the bot has logged in there since.
"""

import asyncio

from noughts_proto.v1 import cluster_pb2 as pb
from noughts_referee.frame_connection import session_replaced
from noughts_server.cluster.codecs import REFEREES, SERVERS, login_message
from noughts_server.cluster.remote_referee import RemoteReferee
from noughts_server.cluster.silence import Limit, Silence, usual_limit
from noughts_server.convert.seeks import seek_of
from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import running
from noughts_server.runtime.sessions import PRESENCE, OnlineBot, Sessions
from noughts_server.store.nodes import BEAT_SECONDS


class Presence:
    """Publishes the logins of this server, and gives its sessions those of the other nodes."""

    def __init__(
        self, sessions: Sessions, referee: RemoteReferee, bus: Bus, name: str, limit: Limit = usual_limit
    ) -> None:
        self._sessions = sessions
        self._referee = referee
        self._bus = bus
        self._name = name
        self._fresh_logins: set[int] = set()
        """Bot versions whose login has not been published yet."""
        self._changed: dict[int, None] = {}
        """Bot versions with a change that has not been published yet, in order."""
        self._silence = Silence(limit)

    async def run(self) -> None:
        """Publish and receive logins until cancelled."""
        with (
            listening(self._bus, SERVERS, self._on_server),
            listening(self._bus, REFEREES, self._on_referee),
            listening(self._bus, PRESENCE, self._bot_changed),
        ):
            try:
                async with running(self._silence.watch(self._node_left)):
                    while True:
                        self.publish_all()
                        await asyncio.sleep(BEAT_SECONDS)
            finally:
                self._bus.publish(SERVERS, pb.ServerPresence(server=self._name, leaving=True))

    # Messages to other servers.

    def publish_all(self) -> None:
        """Publish all bots in one complete message, because earlier messages may have been lost.

        If a bot is missing in a complete message, the others conclude that it has left.
        """
        message = pb.ServerPresence(server=self._name, complete=True)
        message.bots.extend(filter(None, map(self._message, list(self._sessions.logins_here()))))
        self._bus.publish(SERVERS, message)

    def _bot_changed(self, version: int) -> None:
        login = self._sessions.logins_here().get(version)
        wire = self._sessions.wire(version)
        if login is not None and wire.online:
            self._fresh_logins.add(version)
        if not self._changed:
            asyncio.get_running_loop().call_soon(self._tell_changes)
        self._changed[version] = None

    def _tell_changes(self) -> None:
        changed = self._changed
        self._changed = {}
        message = pb.ServerPresence(server=self._name)
        message.bots.extend(filter(None, map(self._message, changed)))
        self._bus.publish(SERVERS, message)

    def _message(self, version: int) -> pb.BotPresence | None:
        login = self._sessions.logins_here().get(version)
        if login is None:
            return None
        wire = self._sessions.wire(version)
        player = wire.player
        fresh = version in self._fresh_logins
        if self._bus.connected:  # otherwise the message is lost, and the next one must say it
            self._fresh_logins.discard(version)
        message = login_message(version, login)
        message.seats_timed = wire.capacity_timed
        message.seats_untimed = wire.capacity_untimed
        message.opens = player.opens
        message.stored_ends = player.stored_ends
        message.network_us = player.network_us
        message.margin_us = player.margin_us
        message.fresh = fresh
        message.online = wire.online
        return message

    # Messages from other servers.

    def _on_server(self, message: pb.ServerPresence) -> None:
        server = message.server
        if server == self._name:
            return
        if message.leaving:
            self._node_left(server)
            return
        self._silence.record_message(server)
        for bot in message.bots:
            if bot.fresh and bot.online:
                self._log_out(bot.version, bot.name)
            self._sessions.record_elsewhere(server, bot.version, _login(bot) if bot.online else None)
        if message.complete:
            self._sessions.forget_elsewhere_except(server, {bot.version for bot in message.bots})

    def _on_referee(self, message: pb.RefereePresence) -> None:
        """Handle a referee's presence: every caller can use the bots that run on its machine."""
        if message.leaving:
            self._node_left(message.referee)
        elif message.offers or message.referee in self._silence:
            self._silence.record_message(message.referee)
            for bot in message.offers:
                self._sessions.record_elsewhere(message.referee, bot.version, _login(bot))
            self._sessions.forget_elsewhere_except(message.referee, {bot.version for bot in message.offers})

    def _log_out(self, version: int, name: str) -> None:
        if version in self._sessions.logins_here():
            wire = self._sessions.wire(version)
            self._sessions.log_out(version)
            self._referee.move_bot(version, wire.hand_over(session_replaced(name)))

    def _node_left(self, server: str) -> None:
        self._silence.forget(server)
        self._sessions.forget_elsewhere_except(server, set())


def _login(bot: pb.BotPresence) -> OnlineBot:
    return OnlineBot(
        bot=bot.bot,
        name=bot.name,
        token=bot.token or None,
        declines_challenges=bot.declines_challenges,
        variants=tuple(bot.variants),
        seek=seek_of(bot.seek, "seek") if bot.HasField("seek") else None,
    )
