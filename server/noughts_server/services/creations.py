"""The creation of tournaments, tests, challenges and tunings, which charges callers for the bytes of the settings."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

_SUBJECT = "bytes of settings in your new tournaments, tests, challenges and tunings of a day"
_INSTEAD = "Send fewer openings, or name random:N or balanced:N, which store none"


@dataclass(slots=True)
class Charge:
    """What a caller pays for a creation."""

    is_new: bool = False
    """Whether the request creates something, or only repeats or joins."""


@contextmanager
def charged_for_settings(limiter: Limiter, caller: Caller, size: int, *, instead: str = "") -> Iterator[Charge]:
    """Charge the caller for `size` bytes of settings that the block stores, unless the caller is an admin.

    The block sets `is_new`. Repeated and failed requests cost nothing; a cancelled one does, because its transaction
    can still store them. Raises LimitReached.
    """
    charge = Charge()
    if caller.only_owner is None:
        yield charge
        return
    limiter.take("settings_bytes", caller.owner_id, _SUBJECT, size, instead=instead)
    try:
        yield charge
    except Exception:  # CancelledError is not an Exception
        limiter.charge("settings_bytes", caller.owner_id, -size)
        raise
    if not charge.is_new:
        limiter.charge("settings_bytes", caller.owner_id, -size)


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
        """Create the tournament; see `charged_for_settings`. Raises LimitReached and the errors of `create`."""
        size = self.copies * stored_bytes(self.settings)
        with charged_for_settings(limiter, self.caller, size, instead=_INSTEAD) as charge:

            def create(connection: Connection) -> str:
                charge.is_new = True
                return self.create(connection)

            return await director.create(idempotent(self.caller.token_id, self.request, create, now_ms=now_ms))
