"""The views of a leaderboard: each view is a way to rate its bots, and has a name."""

import asyncio
import math
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from noughts_server.competition.elo import PROVISIONAL_GAMES
from noughts_server.core.computing import Computing
from noughts_server.core.errors import InvalidArgument
from noughts_server.services.answers import answer_in_turn
from noughts_server.statistics.rating_table import Estimate
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.pages import Page
from noughts_server.store.people.anchors import known_ratings
from noughts_server.store.ratings.leaderboards import (
    Filters,
    LeaderboardRow,
    ListState,
    Place,
    Places,
    leaderboard,
    list_bots,
    list_state,
)
from noughts_server.store.ratings.rated_pairs import RatedPair, rated_pairs

MOST_BOTS = 1_000
"""Limit of the bots of a list in all views but the live one, because a fit of this size takes seconds."""

_MOST_CACHED = 100
"""Limit of the views in memory."""
_REST = 19
"""A view is kept for this multiple of its computation time, so a busy list takes a twentieth of the thread's time."""

Reader = Callable[..., list[Any]]


@dataclass(frozen=True, slots=True)
class View:
    """A way to rate the bots of a list."""

    name: str
    title: str
    source: str
    read: Reader | None = None
    """Reads the games of a list, from which `rate` computes ratings; None if the store has the ratings."""
    rate: Callable[[list[Any], Collection[str], Mapping[str, float]], dict[str, Estimate]] = (
        lambda games, active, anchors: {}
    )
    """Returns the estimate of each bot from the games, the names of the active bots, and the known ratings by name."""
    default_from: float = math.inf
    """The view is the default if the list's bots have at least this many games on average."""

    def places(self, games: list[Any], bots: dict[str, tuple[int, bool]], anchors: Mapping[str, float]) -> Places:
        """Return the places of bots by ID.

        `bots` is the result of `list_bots`: by name, the ID of a bot and whether it is active. An inactive bot takes no
        rank from the bots after it. `anchors` has the known ratings by name.
        """
        if not games:
            return {}
        active = {name for name, (_, is_active) in bots.items() if is_active}
        estimates = self.rate(games, active, anchors)
        best_first = sorted(
            (name for name in estimates if name in bots),
            key=lambda name: (estimates[name].view_rating, *bots[name]),
            reverse=True,
        )
        places: dict[int, Place] = {}
        rank = 1
        for name in best_first:
            bot_id, is_active = bots[name]
            places[bot_id] = Place(rank, estimates[name])
            if is_active:
                rank += 1
        return places


def _fit(pairs: list[RatedPair], active: Collection[str], anchors: Mapping[str, float]) -> dict[str, Estimate]:
    # These modules load numpy and scipy: the first request imports them, not the start of the server.
    from noughts_server.statistics.rank_intervals import fit_with_ranks
    from noughts_server.statistics.rated_games import count_pairs

    games = count_pairs((pair.first, pair.second, pair.score.counts) for pair in pairs)
    return fit_with_ranks(games, active, anchors)


VIEWS = (
    View(
        name="fit",
        title="All games at once",
        source="maximum likelihood with a prior",
        read=rated_pairs,
        rate=_fit,
        default_from=PROVISIONAL_GAMES,
    ),
    View("live", "Live Elo", "game by game", default_from=0),
)
"""The default is the first view that has enough games."""

_BY_NAME = {view.name: view for view in VIEWS}


def view_of(name: str, state: ListState) -> View:
    """Return the view with this name, or the default view of this list if the name is empty.

    Raises InvalidArgument: an unknown view, or too many bots for it.
    """
    if name and name not in _BY_NAME:
        raise InvalidArgument.of("view", name, f"one of {', '.join(_BY_NAME)}")
    possible_views = [view for view in VIEWS if view.read is None or state.bots <= MOST_BOTS]
    if not name:
        return next(view for view in possible_views if state.games >= view.default_from * max(state.bots, 1))
    if _BY_NAME[name] not in possible_views:
        raise InvalidArgument.of("view", f"{name} of {state.bots:,} bots", f"`live`, or at most {MOST_BOTS:,} bots")
    return _BY_NAME[name]


class _CachedPlaces(NamedTuple):
    places: Places
    state: ListState
    """The state of the rating list when the places were computed."""
    expires_at: float
    """By the monotonic clock."""


class LeaderboardViews:
    """Pages of leaderboards. A thread computes one view at a time; each view is kept until its list changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cache: dict[tuple[View, str], _CachedPlaces] = {}
        """By view and list."""
        self._turn = asyncio.Lock()
        self._computing = Computing("leaderboard-view")

    async def page(
        self, view_name: str, name: str, *, filters: Filters | None = None, size: int = 0, page_token: str = ""
    ) -> tuple[View, Page[LeaderboardRow], Places]:
        """Return the view (see `view_of`), a page of it, and its places. Raises InvalidArgument, NotFound."""
        state = await answer_in_turn(self._store, partial(list_state, name=name))
        view = view_of(view_name, state)
        variant, time_class = name.split("/")
        places: Places | None = None
        if view.read is not None:
            games = partial(view.read, variant=variant, time_class=time_class)
            places = await self._places(view, name, state, games)
        read = partial(
            leaderboard,
            variant=variant,
            time_class=time_class,
            filters=filters,
            size=size,
            page_token=page_token,
            view=view.name,
            places=places,
        )
        return view, await answer_in_turn(self._store, read), places or {}

    async def default_places(self, name: str) -> Places:
        """Return the places in the default view of a list; empty if that is the live view. Raises NotFound."""
        state = await answer_in_turn(self._store, partial(list_state, name=name))
        view = view_of("", state)
        if view.read is None:
            return {}
        variant, time_class = name.split("/")
        return await self._places(view, name, state, partial(view.read, variant=variant, time_class=time_class))

    async def _places(self, view: View, name: str, state: ListState, games: Reader) -> Places:
        cached = self._cache.get((view, name))
        # While another view is being computed, older places are better than a wait.
        if cached and (self._turn.locked() or self._is_recent(view, name, state)):
            return cached.places
        async with self._turn:
            if not self._is_recent(view, name, state):
                stored, bots, anchors = await answer_in_turn(
                    self._store,
                    lambda connection: (games(connection), list_bots(connection, name), known_ratings(connection)),
                )
                compute = partial(self._compute, view, name, state, games=stored, bots=bots, anchors=anchors)
                await self._computing.run(name, compute)
            return self._cache[view, name].places

    def _is_recent(self, view: View, name: str, state: ListState) -> bool:
        """Return whether the cached places of the view can still be used."""
        cached = self._cache.get((view, name))
        if cached is None:
            return False
        return cached.state == state or time.monotonic() < cached.expires_at

    def _compute(
        self,
        view: View,
        name: str,
        state: ListState,
        games: list[Any],
        bots: dict[str, tuple[int, bool]],
        anchors: Mapping[str, float],
    ) -> None:
        """Compute and keep the places of the view, unless the thread has just computed them for a cancelled call."""
        if not self._is_recent(view, name, state):
            began = time.monotonic()
            places = view.places(games, bots, anchors)
            now = time.monotonic()
            self._cache[view, name] = _CachedPlaces(places, state, now + _REST * (now - began))
            if len(self._cache) > _MOST_CACHED:
                del self._cache[next(iter(self._cache))]
