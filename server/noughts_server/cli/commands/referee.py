"""`noughts referee`: plays the games of a cluster until it is stopped."""

import os
from typing import TYPE_CHECKING, Annotated

from typer import Option

from noughts_bots.reference.specs import BotSpec, parse_spec, unique_labels
from noughts_server.cli.command import command
from noughts_server.cli.config_file import Configuration
from noughts_server.cli.errors import INTERRUPTED, UsageProblem
from noughts_server.cli.options.bus import BusOptions
from noughts_server.cli.options.limits import (
    INACTIVITY_TIMEOUT,
    RECONNECT_TIMEOUT,
    DefaultMarginOption,
    InactivityTimeoutOption,
    ReconnectTimeoutOption,
    SetLimitOption,
    read_inactivity_timeout,
    read_limits,
)
from noughts_server.cli.options.listening import (
    DEFAULT_TRACE_SLOW,
    MetricsOption,
    TraceOption,
    TraceSlowOption,
    read_trace,
    require_private_metrics,
)
from noughts_server.cli.options.logs import LogOptions
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.sandbox import SandboxOptions
from noughts_server.cli.options.startable import DIAL_YOURSELF, check_startable, engine_options, require_frames_on_pipes
from noughts_server.cli.options.submissions import PythonPackagesOption, read_acceptance
from noughts_server.cli.options.time import DEFAULT_MARGIN, read_margin
from noughts_server.cli.processes.signals import Stop, run_loop
from noughts_server.launching.launcher import SandboxMode

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
)
def referee(
    database: Annotated[
        str | None,
        Option("--db", metavar="URL", help="Database of the cluster: file or SQLAlchemy URL. Default: none (required)"),
    ] = None,
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
    limit: SetLimitOption = None,
    margin: DefaultMarginOption = DEFAULT_MARGIN,
    reconnect_timeout: ReconnectTimeoutOption = RECONNECT_TIMEOUT,
    inactivity_timeout: InactivityTimeoutOption = INACTIVITY_TIMEOUT,
    metrics: MetricsOption = None,
    trace: TraceOption = None,
    trace_slow: TraceSlowOption = DEFAULT_TRACE_SLOW,
    insecure: Annotated[
        bool,
        Option(
            "--insecure", help="Use a bus without credentials; show metrics to others", rich_help_panel="Connection"
        ),
    ] = False,
    *,
    bus: BusOptions,
    sandbox: SandboxOptions,
    logs: LogOptions,
    configuration: Configuration,
    output: OutputOptions,
) -> None:
    """Play games for a cluster until Ctrl-C. It then lets running games finish; a second Ctrl-C stops it at once."""
    bus_settings = bus.read("noughts referee", database, insecure=insecure)
    if bus_settings is None:
        raise UsageProblem(
            "--bus: got none, expected the bus of the cluster, e.g. nats://127.0.0.1:4222",
            "Give --bus, or run only `noughts serve`: without a bus it plays its games itself.",
        )
    require_private_metrics(metrics, protected=insecure)
    sandbox_mode = sandbox.sandbox_mode
    offered_bots = _read_offers(offers or [], sandbox_mode)
    acceptance = read_acceptance("noughts referee", accept, python_packages)
    from noughts_server.referee_node import RefereeSettings

    logs.configure()
    assert database is not None
    settings = RefereeSettings(
        database=database,
        bus=bus_settings,
        seats=seats or len(os.sched_getaffinity(0)),
        offers=offered_bots,
        owner=owner,
        acceptance=acceptance,
        limits=read_limits(limit),
        sandbox_mode=sandbox_mode,
        margin_us=read_margin(margin),
        reconnect_timeout=reconnect_timeout,
        inactivity_timeout=read_inactivity_timeout(inactivity_timeout),
        metrics=metrics,
        trace=read_trace("noughts referee", trace, trace_slow),
    )
    if not run_loop(_play_until_stopped(output, settings)):
        raise SystemExit(INTERRUPTED)


def _read_offers(texts: list[str], sandbox_mode: SandboxMode) -> "tuple[Offer, ...]":
    specs = tuple(map(parse_spec, texts))
    labels = unique_labels(specs) if specs else ()
    return tuple(
        _read_offer(text, label, spec, sandbox_mode) for text, label, spec in zip(texts, labels, specs, strict=True)
    )


def _read_offer(text: str, label: str, spec: BotSpec, sandbox_mode: SandboxMode) -> "Offer":
    """Return the offered bot of `--offers`. Raises UsageProblem, BotSpecError."""
    from noughts_server.hosting.offers import Offer

    if not check_startable(spec, sandbox_mode):
        raise UsageProblem(
            f"--offers {text!r}: got no program or plugin, expected one (`gomocup:COMMAND`, `py:FILE.py:CLASS` ...)",
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
    return Offer(name=label, version="1", spec=spec, margin_us=margin_us)


async def _play_until_stopped(output: OutputOptions, settings: "RefereeSettings") -> bool:
    from noughts_server.referee_node import running_referee

    stop = Stop()
    async with running_referee(settings) as node:
        with stop.on_signals():
            document = {"referee": node.name, "seats": settings.seats, "metrics": node.metrics_address}
            output.announce(document, f"{node.name} plays", "Stop:   Ctrl-C")
            return await stop.wait_and_drain(output, node.drain)
