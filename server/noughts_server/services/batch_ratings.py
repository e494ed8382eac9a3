"""Batch ratings: fits all games of a rating list at once, in a thread, one list at a time. Callers take turns."""

from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping

from noughts_proto.v1 import leaderboards_pb2 as pb
from noughts_server.convert.leaderboards import batch_ratings_message
from noughts_server.core.computing import Computing
from noughts_server.core.errors import InvalidArgument
from noughts_server.store.ratings.rated_pairs import RatedPair

MOST_BOTS = 2_000
"""Limit of bots in one fit, which then takes seconds and hundreds of megabytes."""

_LARGEST_RATING = 100_000
"""The largest rating of an anchor: far from all real ratings, and small enough for the arithmetic of the fit."""
_REST_SECONDS_PER_SECOND = 4
"""After a fit, the thread rests for four times the processor time of the fit: fits use at most 20 % of a processor."""


class BatchRater:
    """Fits ratings for one request at a time, because a fit keeps a processor busy."""

    def __init__(self) -> None:
        self._computing = Computing("batch-ratings", rest=_REST_SECONDS_PER_SECOND)

    async def rate(
        self,
        load: Callable[[], Awaitable[list[RatedPair]]],
        *,
        anchors: Mapping[str, float],
        known: Mapping[str, float] | None = None,
        prior: bool,
        caller: Hashable = "",
    ) -> pb.GetBatchRatingsResponse:
        """Return the ratings from the pairs that `load` returns; the caller fills in the name of the list.

        Without `anchors`, the bots with `known` ratings are the anchors, as far as they have games.
        `load` is called when it is the caller's turn, because the pairs of a large list take megabytes. Raises
        InvalidArgument (an anchor without games or out of range, too many bots) and the errors of `load`.
        """

        def fit(pairs: list[RatedPair]) -> pb.GetBatchRatingsResponse:
            names = {name for pair in pairs for name in (pair.first, pair.second)}
            _check(names, anchors)
            known_here = {name: rating for name, rating in (known or {}).items() if name in names}
            return _fitted(pairs, anchors or known_here, prior)

        return await self._computing.run_on(caller, load, fit)


def _check(bots: Collection[str], anchors: Mapping[str, float]) -> None:
    if len(bots) > MOST_BOTS:
        hint = "Leave out bots with few games."
        raise InvalidArgument.of("min_games", f"{len(bots):,} bots", f"at most {MOST_BOTS:,}", hint=hint)
    for name, rating in anchors.items():
        if name not in bots:
            raise InvalidArgument.of("anchors", name, "a bot that has games in this list")
        if not abs(rating) <= _LARGEST_RATING:  # also refuses NaN
            raise InvalidArgument.of("anchors", rating, f"-{_LARGEST_RATING:,} to {_LARGEST_RATING:,}")


def _fitted(pairs: list[RatedPair], anchors: Mapping[str, float], prior: bool) -> pb.GetBatchRatingsResponse:
    # These modules load numpy and scipy: the first request imports them, not the start of the server.
    from noughts_server.statistics.batch_ratings import rate
    from noughts_server.statistics.rated_games import count_pairs

    games = count_pairs((pair.first, pair.second, pair.score.counts) for pair in pairs)
    return batch_ratings_message(rate(games, anchors=anchors, prior=prior))
