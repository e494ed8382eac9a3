"""`noughts referee`: plays the games of a cluster until it is stopped."""

import os
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_bots.reference.specs import parse_spec, unique_labels
from noughts_server.cli import output
from noughts_server.cli.errors import INTERRUPTED, UsageProblem
from noughts_server.cli.former_command import command
from noughts_server.cli.logs import LogOptions
from noughts_server.cli.operator.serve import (
    ABSENCE,
    GRACE,
    AbsenceOption,
    GraceOption,
    read_absence,
    read_acceptance,
    read_limits,
)
from noughts_server.cli.options.bus import BusOptions
from noughts_server.cli.options.listening import DefaultMarginOption, PythonPackagesOption
from noughts_server.cli.options.sandbox import SandboxOptions
from noughts_server.cli.options.time import MARGIN, read_margin
from noughts_server.cli.signals import Stop, run_loop
from noughts_server.cli.startable import DIAL_YOURSELF, check_startable, engine_options, require_frames_on_pipes
from noughts_server.launching.launcher import Locking

if TYPE_CHECKING:
    from noughts_server.hosting.offers import Offer
    from noughts_server.referee_node import RefereeSettings


@command(
    example="""
$ noughts referee --db postgresql://noughts@db/noughts --bus nats://bus:4222
referee-... plays
Stop:   Ctrl-C
""",
    extra="cluster",
    configured=True,
)
def referee(
    database: Annotated[
        str | None,
        Option("--db", metavar="URL", help="Database of the cluster: file or SQLAlchemy URL. Default: none (required)"),
    ] = None,
    *,
    cluster: BusOptions = BusOptions(),
    seats: Annotated[
        int,
        Option(
            "--concurrency",
            "--seats",
            metavar="C",
            min=0,
            max=1024,
            help="Concurrent games; 0: one per core",
            rich_help_panel="Game",
        ),
    ] = 0,
    offers: Annotated[
        list[str] | None,
        Option(
            "--offers", metavar="SPEC", help="Program or plugin to offer, e.g. Wine=gomocup:./pbrain-wine (repeatable)"
        ),
    ] = None,
    owner: Annotated[str, Option("--owner", metavar="NAME", help="Owner of the offered bots")] = "referees",
    accept: Annotated[
        str, Option("--accept", metavar="KINDS", help="Kinds of submitted bots to run: wasm, py, wasm,py or none")
    ] = "none",
    python_packages: PythonPackagesOption = "",
    limit: Annotated[
        list[str] | None,
        Option(
            "--set-limit",
            "--limit",
            metavar="NAME=NUMBER",
            help="Limit to change (docs/reference/limits.md; repeatable)",
        ),
    ] = None,
    margin: DefaultMarginOption = MARGIN,
    grace: GraceOption = GRACE,
    absence: AbsenceOption = ABSENCE,
    sandbox: SandboxOptions = SandboxOptions(),
    insecure: Annotated[
        bool,
        Option("--insecure", help="Use a bus on another machine without credentials", rich_help_panel="Connection"),
    ] = False,
    logs: LogOptions = LogOptions(),
) -> None:
    """Play games for a cluster until Ctrl-C. It then lets running games finish; a second Ctrl-C stops it at once."""
    bus = cluster.read("noughts referee", database, insecure=insecure)
    if bus is None:
        raise UsageProblem(
            "--bus: got none, expected the bus of the cluster, e.g. nats://127.0.0.1:4222",
            "Give --bus, or run only `noughts serve`: without a bus it plays its games itself.",
        )
    locking = sandbox.locking
    offered = _read_offers(offers or [], locking)
    acceptance = read_acceptance("noughts referee", accept, python_packages)
    from noughts_server.referee_node import RefereeSettings

    logs.configure()
    assert database is not None
    chosen = RefereeSettings(
        database,
        bus,
        seats or len(os.sched_getaffinity(0)),
        offered,
        owner,
        acceptance,
        read_limits(limit or []),
        locking,
        read_margin(margin),
        grace,
        read_absence(absence),
    )
    if not run_loop(_play_until_stopped(chosen)):
        raise SystemExit(INTERRUPTED)


def _read_offers(texts: list[str], locking: Locking) -> "tuple[Offer, ...]":
    if not texts:
        return ()
    from noughts_server.hosting.offers import Offer

    specs = tuple(map(parse_spec, texts))
    offers = []
    for text, label, spec in zip(texts, unique_labels(specs), specs, strict=True):
        if not check_startable(spec, locking):
            raise UsageProblem(
                (
                    f"--offers {text!r}: got no program or plugin, expected one (`gomocup:COMMAND`, "
                    "`py:FILE.py:CLASS` ...)"
                ),
                "Run reference bots with: noughts bot run NAME --server HOST:PORT",
            )
        require_frames_on_pipes(spec, DIAL_YOURSELF)
        engine = engine_options(spec)
        if engine is not None and engine.time:
            raise UsageProblem(
                f"--offers {text!r}: got option time={engine.time}, but each tournament has its own time control",
                "Remove the option. `tournament create --time-of` sets the time control of one bot.",
            )
        margin_us = read_margin(engine.margin, f"{label}, option margin") if engine and engine.margin else None
        offers.append(Offer(name=label, version="1", spec=spec, margin_us=margin_us))
    return tuple(offers)


async def _play_until_stopped(settings: "RefereeSettings") -> bool:
    from noughts_server.referee_node import running_referee

    stop = Stop()
    async with running_referee(settings) as node:
        with stop.on_signals():
            document = {"referee": node.name, "seats": settings.seats}
            output.announce(document, f"{node.name} plays", "Stop:   Ctrl-C")
            return await stop.drained(node.drain)
