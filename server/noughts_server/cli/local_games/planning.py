"""Turn specs and options into a plan of games on this machine."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from noughts_bots.reference.specs import BotSpec, make_built_in, unique_labels
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.clock import MARGIN_US, TimeControl
from noughts_referee.machine_speed import LEAST_FACTOR, MOST_FACTOR, is_out_of_range, machine_speed
from noughts_referee.rules import Variant, first_common
from noughts_server.cli import printing
from noughts_server.cli.drawing.dry_run import show_forecasts
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.local_games.options import LocalGameOptions, LocalOptions
from noughts_server.cli.local_games.trial import pace_by_trial
from noughts_server.cli.options.database import read_database
from noughts_server.cli.options.game import USUAL_VARIANT, own_variant, read_seed, read_specs, read_variant
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.sandbox import read_memory
from noughts_server.cli.options.startable import check_startable, engine_options
from noughts_server.cli.options.time import (
    read_margin,
    read_margins_of,
    read_time,
    read_times_of,
    read_tournament_margin,
)
from noughts_server.cli.processes.signals import run_loop
from noughts_server.launching.launcher import SandboxMode, launching
from noughts_server.local.plan import LocalPlan


def show_forecast(output: OutputOptions, plan: LocalPlan) -> None:
    """Print the forecast of the plan (`--dry-run`)."""
    show_forecasts(output, plan.settings, [len(plan.specs)], pace_by_trial(plan), one=True)


def make_plan(specs: list[str], options: LocalOptions, title: str, *, there: bool = False) -> LocalPlan:
    """Return the plan that the options describe. With `there`, some bots are on a server, which plays the games.

    Raises UsageProblem for wrong options, BotError for a wrong bot, and the errors of the database for --resume.
    """
    if options.times and options.games_file is None:
        raise UsageProblem("--times: got no file to write them to, expected -o FILE as well")
    # Read the specs before the modules of the server are imported, so that a typing error is reported at once.
    parsed_specs = read_specs(specs)
    labels = unique_labels(parsed_specs)
    own_times = read_times_of(options.time_of, labels)
    own_margins_us = read_margins_of(options.margin_of, labels)
    plan = plan_games(parsed_specs, options, title, there=there, own_times=own_times, own_margins_us=own_margins_us)
    plan = replace(
        plan,
        database=read_database(options.database),
        log=options.log,
        messages=options.messages,
        fatal=options.fatal,
    )
    return _resume(plan, same_seed=options.seed is not None) if options.resume else plan


def plan_games(
    specs: tuple[BotSpec, ...],
    options: LocalGameOptions,
    title: str,
    *,
    there: bool = False,
    own_times: Mapping[str, TimeControl] | None = None,
    own_margins_us: Mapping[str, int] | None = None,
) -> LocalPlan:
    """Return a plan of the games of these bots in a temporary database; see `make_plan`.

    The times and margins are those of single bots by label; bots without them can have their own in their specs.
    """
    for spec in specs:
        if options.fuel is not None and spec.child_kind is not None and not spec.child_kind.takes_fuel:
            raise UsageProblem(
                f"--fuel {options.fuel}: got {spec}, expected wasm: and reference bots",
                "Leave out --fuel: it cannot limit other kinds of bots.",
            )
    margin_us = read_margin(options.margin) if options.margin else None
    memory_bytes = read_memory(options.memory)
    all_memory_bytes = read_memory(options.memory_total, "--memory-total")
    labels = unique_labels(specs)
    own_times, own_margins_us = dict(own_times or {}), dict(own_margins_us or {})
    for label, spec in zip(labels, specs, strict=True):
        engine = engine_options(spec)
        if engine is not None and engine.time:
            own_times.setdefault(label, read_time(engine.time, f"{label}, option time"))
        if engine is not None and engine.margin and there:
            raise UsageProblem(
                f"{label}: got option margin={engine.margin} and a bot on a server, where all bots have one time "
                "margin",
                "Remove the option and use --margin, the time margin of all bots.",
            )
        if engine is not None and engine.margin:
            own_margins_us.setdefault(label, read_margin(engine.margin, f"{label}, option margin"))
    local_specs = {label: spec for label, spec in zip(labels, specs, strict=True) if not there or spec.kind != "bot"}
    variant_name = options.variant or _common_variant(options, local_specs)
    variant = read_variant(variant_name, options.opening_rule)
    # Store the scores of programs, plugins and engines; those of reference bots are not worth the cost.
    keeps_scores = any(spec.asks_an_endpoint or (not there and spec.child_kind is not None) for spec in specs)
    seed = read_seed(options.seed, secret=there)
    margin_ms = read_tournament_margin(options.margin) if there else 0
    settings = replace(options, variant=variant_name).settings(
        own_times, seed=seed, title=title, keep_scores=keeps_scores, margin_ms=margin_ms
    )
    if settings.scale_time and not there and is_out_of_range(machine_speed()):
        raise Problem(
            f"--scale-time: this machine is {machine_speed():.2g} times as fast as the reference machine, expected"
            f" {1 / MOST_FACTOR:g} to {1 / LEAST_FACTOR:g}",
            "Leave out --scale-time, and choose times for this machine.",
        )
    waits_us = _check_playable(local_specs, variant, options.sandbox_mode)
    usual_us = MARGIN_US if margin_us is None else margin_us
    return LocalPlan(
        specs=specs,
        settings=settings,
        margin_us=margin_us,
        own_margins_us={label: usual_us + wait_us for label, wait_us in waits_us.items()} | own_margins_us,
        children=ChildSettings(start=options.start_timeout),
        sandbox_mode=options.sandbox_mode,
        processes=options.processes,
        affinity=options.affinity,
        memory_bytes=memory_bytes,
        all_memory_bytes=all_memory_bytes,
    )


def _common_variant(options: LocalGameOptions, specs: Mapping[str, BotSpec]) -> str:
    """Return the first variant that a bot declares and all bots play; without bots, the usual one.

    Raises UsageProblem if the bots have no variant in common, and BotError.
    """
    if not specs:
        return USUAL_VARIANT
    for spec in specs.values():
        check_startable(spec, options.sandbox_mode)
    from noughts_server.bot_check.own_variants import declared_by_each

    async def read_declarations() -> list[tuple[str, ...]]:
        async with launching(options.sandbox_mode, lambda note: None) as launcher:
            return await declared_by_each(list(specs.values()), launcher, ChildSettings(start=options.start_timeout))

    declared = run_loop(read_declarations())
    for names in declared:
        own_variant(names)
    variant = first_common(declared)
    if variant is None:
        variants_of_bots = "; ".join(
            f"{label} plays {', '.join(names)}" for label, names in zip(specs, declared, strict=True) if names
        )
        raise UsageProblem(f"--variant: the bots have no variant in common: {variants_of_bots}", "Choose other bots.")
    return variant


def _resume(plan: LocalPlan, *, same_seed: bool) -> LocalPlan:
    """Return the plan that continues the newest run in its database. Raises UsageProblem and database errors."""
    if plan.database is None:
        raise UsageProblem("--resume: got no database, expected --db FILE with the games to resume")
    from noughts_server.store.tournaments.local_runs import NotResumed, run_to_resume

    versions = {label: spec.short for label, spec in zip(unique_labels(plan.specs), plan.specs, strict=True)}
    with problems_with("--resume", NotResumed, hint="Leave out --resume to begin another tournament there."):
        stored, settings = asyncio.run(run_to_resume(plan.database, plan.settings, versions, same_seed=same_seed))
    has_more_games = (
        settings.games_per_pair != stored.settings.games_per_pair
        or settings.rounds != stored.settings.rounds
        or len(versions) != len(stored.versions)
    )
    total = printing.count(stored.games_total, "game")
    printing.note(f"Resuming after {stored.games_done:,} of {total}{', with more to play' if has_more_games else ''}.")
    return replace(plan, settings=settings, resumes=stored.slug)


def _check_playable(specs: Mapping[str, BotSpec], variant: Variant, sandbox_mode: SandboxMode) -> dict[str, int]:
    """Create each built-in bot once, and return how long bots can wait for their endpoints in a move.

    The times are in microseconds, by label.

    Raises BotError for a bot that does not play the variant, so that the error appears before the games.
    """
    waits_us = {}
    with ExitStack() as stack:
        for label, spec in specs.items():
            if check_startable(spec, sandbox_mode):
                continue
            bot = make_built_in(spec, variant)
            # All bots exist at the same time, because two learners cannot use one file. At the end they release their
            # files for the processes that play.
            bot.prepare()
            stack.callback(bot.close)
            if bot.wait:
                waits_us[label] = round(bot.wait * 1e6)
    return waits_us
