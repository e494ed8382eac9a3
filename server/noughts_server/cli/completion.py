"""Completions at the Tab key: variants, bots, tournaments, formats, openings.

The functions import their modules, because the options of every command refer to these functions.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from noughts_server.client.client import Client

_ANSWER_SECONDS = 1.0
"""Time limit of a server's answer: the user waits at the prompt."""
_MOST_NAMES = 200


def variants() -> Iterable[str]:
    """Return the names of variants."""
    from noughts_referee.rules import OWN_NAMES, plugin_names

    return [*OWN_NAMES, *plugin_names(), "mnk:"]


def specs() -> Iterable[str]:
    """Return the beginnings of specs: reference bots with their options, kinds, and installed bots."""
    from noughts_bots.hosts.installed import installed_bots
    from noughts_bots.reference.registry import REFERENCE_BOTS
    from noughts_proto.child_kinds import CHILD_KINDS

    for name, row in REFERENCE_BOTS.items():
        yield name
        yield from (f"{name}:{option.name}=" for option in row.options)
    yield from (f"{kind}:" for kind in CHILD_KINDS)
    yield from (f"py:{row.name}" for row in installed_bots())


def schedules() -> Iterable[str]:
    """Return the formats of tournaments."""
    from noughts_server.competition.formats import FORMATS

    return map(str, FORMATS)


def openings() -> Iterable[str]:
    """Return the openings and books."""
    from noughts_server.openings.books import BOOKS

    return ["none", "random:", "balanced:", *BOOKS]


def tournaments(ctx: typer.Context) -> Iterable[str]:
    """Return the tournaments of the server."""
    from noughts_proto.v1.tournaments_pb2 import ListTournamentsRequest

    def names(client: "Client") -> list[str]:
        request = ListTournamentsRequest(page_size=_MOST_NAMES)
        response = client.tournaments.ListTournaments(request, timeout=_ANSWER_SECONDS)
        return [row.name for row in response.tournaments]

    return _names_at_server(ctx, names)


def tests(ctx: typer.Context) -> Iterable[str]:
    """Return the tests of the server."""
    from noughts_proto.v1.tests_pb2 import ListTestsRequest

    def names(client: "Client") -> list[str]:
        response = client.tests.ListTests(ListTestsRequest(page_size=_MOST_NAMES), timeout=_ANSWER_SECONDS)
        return [row.name for row in response.tests]

    return _names_at_server(ctx, names)


def tunings(ctx: typer.Context) -> Iterable[str]:
    """Return the tunings of the server."""
    from noughts_proto.v1.tunings_pb2 import ListTuningsRequest

    def names(client: "Client") -> list[str]:
        response = client.tunings.ListTunings(ListTuningsRequest(page_size=_MOST_NAMES), timeout=_ANSWER_SECONDS)
        return [row.name for row in response.tunings]

    return _names_at_server(ctx, names)


def bots(ctx: typer.Context) -> Iterable[str]:
    """Return the bots of the server."""
    from noughts_proto.v1.bots_pb2 import ListBotsRequest

    def names(client: "Client") -> list[str]:
        response = client.bots.ListBots(ListBotsRequest(page_size=_MOST_NAMES), timeout=_ANSWER_SECONDS)
        return [row.name for row in response.bots]

    return _names_at_server(ctx, names)


def opponents(ctx: typer.Context) -> Iterable[str]:
    """Return the bots of the server, as specs."""
    return (f"bot:{name}" for name in bots(ctx))


def _names_at_server(ctx: typer.Context, names: Callable[["Client"], list[str]]) -> list[str]:
    """Return the short names that `names` reads from the server on the command line; none if it fails."""
    from noughts_proto.security import dialling_from_environment
    from noughts_server.cli.connection import read_server, read_token
    from noughts_server.client.client import connected
    from noughts_server.core.resource_names import short

    # Ignore all errors: the shell would not show them, and the command itself reports them.
    with suppress(Exception):
        address = read_server(ctx.params.get("server"))
        token = read_token(None, None)
        dialling = dialling_from_environment()
        dialling.check(address, token)
        with connected(address, token, dialling) as client:
            return [short(name) for name in names(client)]
    return []
