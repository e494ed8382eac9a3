"""The creation of tournaments, tests and challenges by callers, who are charged for the bytes of the settings."""

from collections.abc import Callable
from dataclasses import dataclass

from google.protobuf.message import Message

from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.runtime.director import Director
from noughts_server.services.limiter import Limiter
from noughts_server.store.engine.database import Connection
from noughts_server.store.engine.idempotency import idempotent
from noughts_server.store.people.tokens import Caller
from noughts_server.store.tournament_options import stored_bytes
from noughts_server.store.tournaments.tournaments import Tournament

_SUBJECT = "bytes of settings in your new tournaments, tests and challenges of a day"
_INSTEAD = "Send fewer openings, or name random:N or balanced:N, which store none"


@dataclass(frozen=True, slots=True)
class Creation:
    """A tournament that a request creates, or whose settings it changes. `create` returns its ID."""

    caller: Caller
    request: Message
    settings: TournamentSettings
    create: Callable[[Connection], str]
    copies: int = 1
    """The lowest number of copies of the settings in the store, which exist even if the caller cancels at once."""

    async def execute(self, director: Director, limiter: Limiter, *, now_ms: int) -> Tournament:
        """Create the tournament, and charge its owner for the bytes of its settings, unless the owner is an admin.

        Repeated and failed requests cost nothing. Raises LimitReached and the errors of `create`.
        """
        caller = self.caller
        is_new = False
        size = 0 if caller.only_owner is None else self.copies * stored_bytes(self.settings)

        def create(connection: Connection) -> str:
            nonlocal is_new
            is_new = True
            return self.create(connection)

        if size:
            limiter.take("settings_bytes", caller.owner_id, _SUBJECT, size, instead=_INSTEAD)
        try:
            tournament = await director.create(idempotent(caller.token_id, self.request, create, now_ms=now_ms))
        except Exception:  # CancelledError is not an Exception: if the caller cancels the call, the creation continues.
            limiter.charge("settings_bytes", caller.owner_id, -size)
            raise
        if not is_new:
            limiter.charge("settings_bytes", caller.owner_id, -size)
        return tournament
