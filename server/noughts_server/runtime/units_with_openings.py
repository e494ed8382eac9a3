"""Add openings to the units of a tournament, if it has openings."""

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

_SEARCHED_PART_SLOTS = 8
_PART_SLOTS = 256
"""The slots of a part. A part begins when all its openings are ready, so it is small if openings must be searched."""
_MOST_REMEMBERED = 20_000
"""The openings to remember. Both games of a pair share one; in a round robin, a whole cycle lies between them."""


class UnitsWithOpenings:
    """Returns a tournament's units with openings, in parts as they become ready."""

    def __init__(
        self, settings: TournamentSettings, conditions: GameConditions, owner_id: int, others_play: Callable[[], bool]
    ) -> None:
        """Args:
        owner_id: the tournament's owner. Owners take turns with searches of openings.
        others_play: returns whether games of other tournaments run. If they do, searches of openings pause; see
        `compute`."""
        self._openings = settings.openings
        self._conditions = conditions
        self._owner_id = owner_id
        self._others_play = others_play
        self._is_searched = settings.openings.kind is OpeningsKind.BALANCED
        self._openings_of: dict[int, OpeningChoice] = {}

    async def parts(self, unit: Unit, game_pairs: Sequence[int]) -> AsyncIterator[Unit]:
        """Yield the unit's slots with their openings, in order; `game_pairs` numbers the slots' pairs of games.

        Without openings in the tournament, yield the unit unchanged. Yield nothing for a unit without slots. Raise
        NoughtsError if an opening cannot be found.
        """
        if not self._openings:
            if unit.slots:
                yield unit
            return
        size = _SEARCHED_PART_SLOTS if self._is_searched else _PART_SLOTS
        for begin in range(0, len(unit.slots), size):
            slots = unit.slots[begin : begin + size]
            numbers = game_pairs[begin : begin + size]
            openings = {}
            for slot, number in zip(slots, numbers, strict=True):
                openings[slot.ordinal] = await self._opening(number)
            yield unit._replace(slots=slots, openings=openings)
            await asyncio.sleep(0)

    async def _opening(self, game_pair: int) -> OpeningChoice:
        opening = self._openings_of.get(game_pair)
        if opening is None:
            find = partial(self._find_opening, game_pair)
            opening = await compute(self._owner_id, find, self._others_play) if self._is_searched else find()
            if len(self._openings_of) >= _MOST_REMEMBERED:
                del self._openings_of[next(iter(self._openings_of))]
            self._openings_of[game_pair] = opening
        return opening

    def _find_opening(self, game_pair: int) -> OpeningChoice:
        conditions = self._conditions
        try:
            return opening_of(self._openings, conditions.variant, conditions.seed, game_pair)
        except OpeningError as error:
            got = f"without an opening for pair of games {game_pair}"
            raise WrongState(conditions.name, got=got, expected=str(error)) from error
