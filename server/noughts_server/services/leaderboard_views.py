"""The views of a leaderboard: each is a way to rate its bots, found by its name."""

import asyncio
import math
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from noughts_server.competition.elo import PROVISIONAL_GAMES
from noughts_server.core.computing import Computing
from noughts_server.core.errors import InvalidArgument
from noughts_server.services.answers import answered
from noughts_server.statistics.rating_table import Estimate
from noughts_server.store.engine.database import Store
from noughts_server.store.engine.pages import Page
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
"""Limit of the bots of a list in all views but the live one; a fit of so many takes seconds."""

_MOST_KNOWN = 100
_REST = 19
"""A view of a busy list is computed again after so many times as long as that took: a twentieth of the time."""

Reader = Callable[..., list[Any]]


@dataclass(frozen=True, slots=True)
class View:
    """A way to rate the bots of a list."""

    name: str
    title: str
    source: str
    read: Reader | None = None
    """Reads the games of a list, from which `rate` computes ratings; None if the store has the ratings."""
    rate: Callable[[list[Any], Collection[str]], dict[str, Estimate]] = lambda games, active: {}
    usual_from: float = math.inf
    """The mean number of games of a bot from which this is the default view."""

    def places(self, games: list[Any], bots: dict[str, tuple[int, bool]]) -> Places:
        """Return the places of bots, from their games and the result of `list_bots`."""
        estimates = self.rate(games, {name for name, (_, active) in bots.items() if active}) if games else {}
        rated = ((each.view_rating, *bots[name], each) for name, each in estimates.items() if name in bots)
        places: dict[int, Place] = {}
        rank = 1
        for _, key, active, estimate in sorted(rated, reverse=True):
            places[key] = Place(rank, estimate)
            rank += active
        return places


def _fit(pairs: list[RatedPair], active: Collection[str]) -> dict[str, Estimate]:
    # These load numpy and scipy: import them with the first request, not when the server starts.
    from noughts_server.statistics.rank_intervals import fit_with_ranks
    from noughts_server.statistics.rated_games import count_pairs

    return fit_with_ranks(count_pairs((pair.first, pair.second, pair.score.counts) for pair in pairs), active)


VIEWS = (
    View(
        name="fit",
        title="All games at once",
        source="maximum likelihood with a prior",
        read=rated_pairs,
        rate=_fit,
        usual_from=PROVISIONAL_GAMES,
    ),
    View("live", "Live Elo", "game by game", usual_from=0),
)
"""The default is the first view that has enough games."""

_BY_NAME = {view.name: view for view in VIEWS}


def view_of(name: str, state: ListState) -> View:
    """Return the view with this name, or by default. Raises InvalidArgument: an unknown view, or too many bots."""
    if name and name not in _BY_NAME:
        raise InvalidArgument.of("view", name, f"one of {', '.join(_BY_NAME)}")
    fitting = [view for view in VIEWS if view.read is None or state.bots <= MOST_BOTS]
    if not name:
        return next(view for view in fitting if state.games >= view.usual_from * max(state.bots, 1))
    if _BY_NAME[name] not in fitting:
        raise InvalidArgument.of("view", f"{name} of {state.bots:,} bots", f"`live`, or at most {MOST_BOTS:,} bots")
    return _BY_NAME[name]


class LeaderboardViews:
    """Pages of leaderboards. One view at a time is computed, in a thread, and kept until its list changes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[tuple[View, str], tuple[Places, ListState, float]] = {}
        """Places, the state from which they follow, and the time until which the list rests, by view and list."""
        self._turn = asyncio.Lock()
        self._computing = Computing("leaderboard-view")

    async def page(
        self, view_name: str, name: str, *, filters: Filters | None = None, size: int = 0, page_token: str = ""
    ) -> tuple[View, Page[LeaderboardRow], Places]:
        """Return a view (by default the usual one), a page of it, and its places. Raises InvalidArgument, NotFound."""
        state = await answered(self._store, partial(list_state, name=name))
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
        return view, await answered(self._store, read), places or {}

    async def _places(self, view: View, name: str, state: ListState, games: Reader) -> Places:
        known = self._known.get((view, name))
        if known and (self._turn.locked() or self._is_recent(view, name, state)):
            return known[0]
        async with self._turn:
            if not self._is_recent(view, name, state):
                stored, bots = await answered(
                    self._store, lambda connection: (games(connection), list_bots(connection, name))
                )
                compute = partial(self._compute, view, name, state, games=stored, bots=bots)
                await self._computing.run(name, compute)
            return self._known[view, name][0]

    def _is_recent(self, view: View, name: str, state: ListState) -> bool:
        """Return whether the view need not be computed now."""
        _, known, rests_until = self._known.get((view, name), ({}, None, 0.0))
        return known is not None and (known == state or time.monotonic() < rests_until)

    def _compute(
        self, view: View, name: str, state: ListState, games: list[Any], bots: dict[str, tuple[int, bool]]
    ) -> None:
        """Keep the places of the view, unless a call that was cancelled meanwhile has had them computed."""
        if not self._is_recent(view, name, state):
            began = time.monotonic()
            places = view.places(games, bots)
            now = time.monotonic()
            self._known[view, name] = places, state, now + _REST * (now - began)
            if len(self._known) > _MOST_KNOWN:
                del self._known[next(iter(self._known))]
