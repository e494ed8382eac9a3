"""What a shell offers when somebody presses Tab: variants, bots, tournaments, formats, openings."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from noughts_server.cli.parameters import Completes

_PATIENCE_SECONDS = 1.0
"""For a server's answer: somebody waits at the prompt."""
_MOST = 200


def candidates(what: Completes, server: str | None) -> list[str]:
    """The words that may stand there; `server` is the option's value. A server that does not answer has none."""
    if what is Completes.VARIANT:
        return list(_variants())
    if what is Completes.SPEC:
        return list(_specs())
    if what is Completes.SCHEDULE:
        return _schedules()
    if what is Completes.OPENINGS:
        return _openings()
    found: list[str] = []
    # Whatever is wrong, the command itself will say it; here there is nobody to tell.
    with suppress(Exception):
        found = _at_the_server(what, server)
    return [f"bot:{name}" for name in found] if what is Completes.OPPONENT else found


def _variants() -> Iterator[str]:
    from noughts_referee.rules import OWN_NAMES, plugin_names

    yield from OWN_NAMES
    yield from plugin_names()
    yield "mnk:"


def _specs() -> Iterator[str]:
    from noughts_bots.hosts.installed import installed_bots
    from noughts_bots.reference.registry import REFERENCE_BOTS
    from noughts_proto.child_kinds import CHILD_KINDS

    for name, row in REFERENCE_BOTS.items():
        yield name
        yield from (f"{name}:{option.name}=" for option in row.options)
    yield from (f"{kind}:" for kind in CHILD_KINDS)
    yield from (f"py:{row.name}" for row in installed_bots())


def _schedules() -> list[str]:
    from noughts_server.competition.schedule import ScheduleKind

    return [str(kind) for kind in ScheduleKind]


def _openings() -> list[str]:
    from noughts_server.openings.books import BOOKS

    return ["none", "random:", "balanced:", *BOOKS]


def _at_the_server(what: Completes, server: str | None) -> list[str]:
    from noughts_proto.v1 import bots_pb2, tournaments_pb2
    from noughts_server.cli.client import connected
    from noughts_server.cli.resource_names import short

    with connected(server) as client:
        answer: Any
        if what is Completes.TOURNAMENT:
            tournaments = tournaments_pb2.ListTournamentsRequest(page_size=_MOST)
            answer = client.tournaments.ListTournaments(tournaments, timeout=_PATIENCE_SECONDS)
            return [short(row.name) for row in answer.tournaments]
        bots = bots_pb2.ListBotsRequest(page_size=_MOST)
        answer = client.bots.ListBots(bots, timeout=_PATIENCE_SECONDS)
        return [short(row.name) for row in answer.bots]
