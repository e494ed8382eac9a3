"""Pair the bots of ladders when they connect, and not while they are offline."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping

import structlog

from noughts_server.runtime.bus import Bus, listening
from noughts_server.runtime.endless_work import logging_errors, wait_until_set
from noughts_server.runtime.recorder import Recorder
from noughts_server.runtime.sessions import PRESENCE, Sessions
from noughts_server.runtime.tournament_play import CHANGED
from noughts_server.store.engine.database import Store
from noughts_server.store.pairing.ladders import LadderEntry, ladder_entries

logger = structlog.get_logger("noughts.ladders")

_CHECK_SECONDS = 1.0
"""The longest time between two checks. In a cluster, no event reports the bots of other servers."""
_PAUSE_SECONDS = 0.1
"""The shortest time between two checks."""


async def pairing_online_bots(
    store: Store, sessions: Sessions, recorder: Recorder, bus: Bus, leads: Callable[[], bool]
) -> None:
    """Pair the bots of ladders that are online whenever one connects, leaves or joins, until cancelled.

    Only the server of a cluster that `leads` does it.
    """
    news = asyncio.Event()
    joined: set[int] = set()
    """The keys of tournaments that have changed: an entry can have joined."""

    def note_change(tournament: int) -> None:
        joined.add(tournament)
        news.set()

    with (
        listening(bus, PRESENCE, lambda version: news.set()),
        listening(bus, CHANGED, note_change),
    ):
        while True:
            news.clear()
            changed = frozenset(joined)
            joined.clear()
            if leads():
                with logging_errors(logger, "ladder_check_failed"):
                    rows = await store.read_with_retries(ladder_entries)
                    recorder.pair_again(_changes(rows, sessions.logins_online(), changed))
            await asyncio.sleep(_PAUSE_SECONDS)
            await wait_until_set(news, _CHECK_SECONDS)


def _changes(
    rows: Iterable[LadderEntry], online: Collection[int], changed: Collection[int]
) -> Mapping[int, Mapping[int, bool]]:
    """Return the entries that have come or gone, by tournament and number, and the ladders in `changed`."""
    changes: dict[int, dict[int, bool]] = {}
    for row in rows:
        is_absent = row.bot_version not in online
        if is_absent != row.absent:
            changes.setdefault(row.tournament, {})[row.number] = is_absent
        elif row.tournament in changed:
            changes.setdefault(row.tournament, {})
    return changes
