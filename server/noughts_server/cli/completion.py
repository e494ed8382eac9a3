"""What a shell offers at the Tab key: variants, bots, tournaments, formats, openings.

Modules are imported when the shell asks: options of every command name these functions.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import typer

_PATIENCE_SECONDS = 1.0
"""Time limit of a server's answer: the user waits at the prompt."""
_MOST = 200


def variants() -> Iterable[str]:
    from noughts_referee.rules import OWN_NAMES, plugin_names

    return [*OWN_NAMES, *plugin_names(), "mnk:"]


def specs() -> Iterable[str]:
    from noughts_bots.hosts.installed import installed_bots
    from noughts_bots.reference.registry import REFERENCE_BOTS
    from noughts_proto.child_kinds import CHILD_KINDS

    for name, row in REFERENCE_BOTS.items():
        yield name
        yield from (f"{name}:{option.name}=" for option in row.options)
    yield from (f"{kind}:" for kind in CHILD_KINDS)
    yield from (f"py:{row.name}" for row in installed_bots())


def schedules() -> Iterable[str]:
    from noughts_server.competition.formats import FORMATS

    return map(str, FORMATS)


def openings() -> Iterable[str]:
    from noughts_server.openings.books import BOOKS

    return ["none", "random:", "balanced:", *BOOKS]


def tournaments(ctx: typer.Context) -> Iterable[str]:
    return _at_the_server(ctx, "tournaments")


def tests(ctx: typer.Context) -> Iterable[str]:
    """Tests of the server."""
    return _at_the_server(ctx, "tests")


def bots(ctx: typer.Context) -> Iterable[str]:
    return _at_the_server(ctx, "bots")


def opponents(ctx: typer.Context) -> Iterable[str]:
    """Bots of the server, as specs."""
    return (f"bot:{name}" for name in bots(ctx))


def _at_the_server(ctx: typer.Context, what: str) -> list[str]:
    from noughts_proto.security import dialling_from_environment
    from noughts_proto.v1 import bots_pb2, tests_pb2, tournaments_pb2
    from noughts_server.cli.connection import read_server, read_token
    from noughts_server.client.client import connected
    from noughts_server.core.resource_names import short

    # If anything is wrong, the command itself reports it; here nobody would read it.
    with suppress(Exception):
        address, token = read_server(ctx.params.get("server")), read_token(None, None)
        dialling = dialling_from_environment(tls=False, ca=None, insecure=False)
        dialling.check(address, token)
        with connected(address, token, dialling) as client:
            calls: dict[str, Any] = {
                "tournaments": (client.tournaments.ListTournaments, tournaments_pb2.ListTournamentsRequest),
                "tests": (client.tests.ListTests, tests_pb2.ListTestsRequest),
                "bots": (client.bots.ListBots, bots_pb2.ListBotsRequest),
            }
            call, request = calls[what]
            answer = call(request(page_size=_MOST), timeout=_PATIENCE_SECONDS)
            return [short(row.name) for row in getattr(answer, what)]
    return []
