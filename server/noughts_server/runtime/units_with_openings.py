"""Units with the openings of their games, if the tournament has openings."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

from noughts_referee.work_units import GameConditions, Unit
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.core.computing import compute
from noughts_server.core.errors import WrongState
from noughts_server.openings.choosing import OpeningChoice, opening_of
from noughts_server.openings.legality import OpeningError
from noughts_server.openings.settings import OpeningsKind

# A game begins as soon as it has its opening. A search makes a few openings at a time.
_SEARCHED_AT_ONCE = 8
_AT_ONCE = 256
# The two games of a pairing need not be adjacent: in a round robin there is a cycle between them.
_MOST_KEPT = 20_000


class UnitsWithOpenings:
    """Returns a tournament's units with openings, in parts as they become ready."""

    def __init__(
        self, settings: TournamentSettings, conditions: GameConditions, owner_id: int, disturbs: Callable[[], bool]
    ) -> None:
        """Create it. `owner_id` is the tournament's owner, on whose behalf openings are searched; see `compute`."""
        self._openings = settings.openings
        self._conditions = conditions
        self._owner_id = owner_id
        self._disturbs = disturbs
        self._is_searched = settings.openings.kind is OpeningsKind.BALANCED
        self._known: dict[int, OpeningChoice] = {}

    async def parts(self, unit: Unit, encounters: Sequence[int]) -> AsyncIterator[Unit]:
        """Return the unit's slots with their openings, in order; `encounters` has the number of each slot's pairing.

        A tournament without openings gets the unit unchanged. A unit without slots gives nothing. Raise NoughtsError if
        an opening cannot be found.
        """
        if not self._openings:
            if unit.slots:
                yield unit
            return
        size = _SEARCHED_AT_ONCE if self._is_searched else _AT_ONCE
        for begin in range(0, len(unit.slots), size):
            slots = unit.slots[begin : begin + size]
            numbers = encounters[begin : begin + size]
            of_encounters = [await self._opening(each) for each in numbers]
            openings = {slot.ordinal: opening for slot, opening in zip(slots, of_encounters, strict=True)}
            yield unit._replace(slots=slots, openings=openings)
            await asyncio.sleep(0)

    async def _opening(self, encounter: int) -> OpeningChoice:
        known = self._known.get(encounter)
        if known is None:
            make = partial(self._made, encounter)
            known = await compute(self._owner_id, make, self._disturbs) if self._is_searched else make()
            if len(self._known) >= _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[encounter] = known
        return known

    def _made(self, encounter: int) -> OpeningChoice:
        playing = self._conditions
        try:
            return opening_of(self._openings, playing.variant, playing.seed, encounter)
        except OpeningError as error:
            got = f"without an opening for pairing {encounter}"
            raise WrongState(playing.name, got=got, expected=str(error)) from error
