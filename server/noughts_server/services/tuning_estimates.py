"""Estimates of tunings: the optima and curves of the pages, computed in a thread, one tuning at a time."""

from collections import OrderedDict
from functools import partial

from noughts_proto.v1 import tunings_pb2 as pb
from noughts_server.convert.tunings import estimated_message
from noughts_server.core.computing import Computing
from noughts_server.core.spec_template import SpecTemplate
from noughts_server.services.access import VISITOR
from noughts_server.statistics.spsa import Course
from noughts_server.store.engine.database import Store
from noughts_server.store.tunings import StoredIteration, StoredTuning, iterations_after

_MOST_POINTS = 500
"""Limit of the points of a curve."""
_MOST_KEPT = 32
"""Limit of the courses that are kept in memory, the last used ones."""
_REST_SECONDS_PER_SECOND = 4
"""After an estimate, the thread rests for four times its processor time."""


class TuningEstimates:
    """Estimates tunings from all their iterations, and keeps the iterations of the last used ones in memory."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._computing = Computing("tunings", rest=_REST_SECONDS_PER_SECOND)
        # A deleted tuning's key can be used again, but not at the same time.
        self._kept: OrderedDict[tuple[int, int], _Estimate] = OrderedDict()

    async def estimated(self, tuning: StoredTuning) -> pb.Tuning:
        """Return the tuning with its optima and its curve."""
        key = (tuning.id, tuning.created_at)
        estimate = self._kept.get(key)
        if estimate is None or estimate.iterations_done < tuning.iterations_done:

            async def load() -> "tuple[_Estimate, list[StoredIteration]]":
                known = self._kept.get(key) or _Estimate(tuning)
                read = partial(iterations_after, tuning=tuning, after=known.iterations_done)
                return known, await self._store.read(read)

            visitor = VISITOR.get(None)
            estimate = await self._computing.run_on("" if visitor is None else visitor.payer, load, _extended)
        self._kept[key] = estimate
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return estimate.message(tuning)


class _Estimate:
    """The course of a tuning with its estimated optima."""

    def __init__(self, tuning: StoredTuning) -> None:
        self._bot = SpecTemplate(tuning.bot)
        self._course = Course(tuning.tuning)
        self.iterations_done = -1
        """-1 before the first estimate."""

    def extend(self, iterations: "list[StoredIteration]") -> None:
        """Add the next iterations, and estimate the optima again."""
        # This module loads numpy and scipy: the first request imports it, not the start of the server.
        from noughts_server.statistics.optima import tuned_parameters

        for stored in iterations:
            if stored.iteration == self._course.iteration:
                self._course.add(stored.result)
        self._rows = tuned_parameters(self._course)
        self._curve = self._course.curve(_MOST_POINTS)
        self.iterations_done = self._course.iteration - 1

    def message(self, tuning: StoredTuning) -> pb.Tuning:
        """Return the tuning, which has at most the iterations of the estimate, with the optima and the curve."""
        tuned = self._bot.text_with({row.parameter.name: row.tuned for row in self._rows})
        return estimated_message(tuning, self._rows, tuned, self._curve)


def _extended(loaded: "tuple[_Estimate, list[StoredIteration]]") -> _Estimate:
    estimate, iterations = loaded
    estimate.extend(iterations)
    return estimate
