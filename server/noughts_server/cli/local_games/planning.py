"""Turn specs and options into a plan of games on this machine."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

from noughts_bots.reference.specs import BotSpec, make_built_in, unique_labels
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.clock import MARGIN_US
from noughts_referee.rules import Variant, first_common
from noughts_server.cli import printing
from noughts_server.cli.dry_run import show_forecasts
from noughts_server.cli.errors import UsageProblem, problems_with
from noughts_server.cli.local_games.options import LocalOptions
from noughts_server.cli.local_games.trial import pace_by_trial
from noughts_server.cli.options.database import read_database
from noughts_server.cli.options.game import USUAL_VARIANT, own_variant, read_seed, read_specs, read_variant
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.sandbox import read_memory
from noughts_server.cli.options.time import (
    read_margin,
    read_margins_of,
    read_time,
    read_times_of,
    read_tournament_margin,
)
from noughts_server.cli.signals import run_loop
from noughts_server.cli.startable import check_startable, engine_options
from noughts_server.launching.launcher import Locking, launching
from noughts_server.local.plan import LocalPlan


def show_forecast(output: OutputOptions, plan: LocalPlan) -> None:
    """Print the forecast of the plan (`--dry-run`)."""
    show_forecasts(output, plan.settings, [len(plan.specs)], pace_by_trial(plan), one=True)


def make_plan(specs: list[str], playing: LocalOptions, title: str, *, there: bool = False) -> LocalPlan:
    """Return the plan that the options describe; `there`: bots of a server play, too.

    Raises UsageProblem, BotError and what else is wrong with them.
    """
    if playing.times and playing.games_file is None:
        raise UsageProblem("--times: got no file to write them to, expected -o FILE as well")
    # Read before the server's parts are loaded, so that a typing error is reported at once.
    parsed_specs = read_specs(specs)
    for spec in parsed_specs:
        if playing.fuel is not None and spec.child_kind is not None and not spec.child_kind.takes_fuel:
            raise UsageProblem(
                f"--fuel {playing.fuel}: got {spec}, expected wasm: and reference bots",
                "Leave out --fuel: it cannot limit other kinds of bots.",
            )
    margin_us = read_margin(playing.margin) if playing.margin else None
    memory_bytes = read_memory(playing.memory)
    all_memory_bytes = read_memory(playing.memory_total, "--memory-total")
    labels = unique_labels(parsed_specs)
    own_times = read_times_of(playing.time_of, labels)
    own_margins_us = read_margins_of(playing.margin_of, labels)
    for label, spec in zip(labels, parsed_specs, strict=True):
        said = engine_options(spec)
        if said is not None and said.time:
            own_times.setdefault(label, read_time(said.time, f"{label}, option time"))
        if said is not None and said.margin and there:
            raise UsageProblem(
                f"{label}: got option margin={said.margin} and a bot on a server, where all bots have one time margin",
                "Remove the option and use --margin, the time margin of all bots.",
            )
        if said is not None and said.margin:
            own_margins_us.setdefault(label, read_margin(said.margin, f"{label}, option margin"))
    here = {label: spec for label, spec in zip(labels, parsed_specs, strict=True) if not there or spec.kind != "bot"}
    playing = _with_variant(playing, here)
    variant = read_variant(playing.variant or USUAL_VARIANT, playing.opening_rule)
    # Runs here store the scores of programs, plugins and engines. If all are reference bots, the cost is not worth it.
    keep = any(spec.asks_an_endpoint or (not there and spec.child_kind is not None) for spec in parsed_specs)
    seed = read_seed(playing.seed, secret=there)
    margin_ms = read_tournament_margin(playing.margin) if there else 0
    settings = playing.settings(own_times, seed=seed, title=title, keep_scores=keep, margin_ms=margin_ms)
    waits_us = _check_playable(here, variant, playing.locking)
    usual_us = MARGIN_US if margin_us is None else margin_us

    plan = LocalPlan(
        specs=parsed_specs,
        settings=settings,
        margin_us=margin_us,
        own_margins_us={label: usual_us + wait_us for label, wait_us in waits_us.items()} | own_margins_us,
        database=read_database(playing.database),
        children=ChildSettings(start=playing.start_timeout),
        locking=playing.locking,
        processes=playing.processes,
        affinity=playing.affinity,
        log=playing.log,
        messages=playing.messages,
        fatal=playing.fatal,
        memory_bytes=memory_bytes,
        all_memory_bytes=all_memory_bytes,
    )
    return _resumed(plan, same_seed=playing.seed is not None) if playing.resume else plan


def _with_variant(playing: LocalOptions, specs: Mapping[str, BotSpec]) -> LocalOptions:
    """Return the options with a variant: the first that these bots declare and all play, if the user named none.

    Raises UsageProblem if they have no variant in common, and BotError.
    """
    if playing.variant is not None or not specs:
        return playing
    for spec in specs.values():
        check_startable(spec, playing.locking)
    from noughts_server.bot_check.own_variants import declared_by_each

    async def found() -> list[tuple[str, ...]]:
        async with launching(playing.locking, lambda note: None) as launcher:
            return await declared_by_each(list(specs.values()), launcher, ChildSettings(start=playing.start_timeout))

    declared = run_loop(found())
    for names in declared:
        own_variant(names)
    variant = first_common(declared)
    if variant is None:
        each = "; ".join(
            f"{label} plays {', '.join(names)}" for label, names in zip(specs, declared, strict=True) if names
        )
        raise UsageProblem(f"--variant: the bots have no variant in common: {each}", "Choose other bots.")
    return replace(playing, variant=variant)


def _resumed(plan: LocalPlan, *, same_seed: bool) -> LocalPlan:
    """Return the plan to continue its database's tournament. Raise UsageProblem, and the database's errors."""
    if plan.database is None:
        raise UsageProblem("--resume: got no database, expected --db FILE with the games to resume")
    from noughts_server.store.tournaments.local_runs import NotResumed, run_to_resume

    versions = {label: spec.short for label, spec in zip(unique_labels(plan.specs), plan.specs, strict=True)}
    with problems_with("--resume", NotResumed, hint="Leave out --resume to begin another tournament there."):
        stored, settings = asyncio.run(run_to_resume(plan.database, plan.settings, versions, same_seed=same_seed))
    before, after = stored.settings, settings
    added = (after.games_per_pair, after.rounds, len(versions)) != (
        before.games_per_pair, before.rounds, len(stored.versions)
    )  # fmt: skip
    total = printing.count(stored.games_total, "game")
    printing.note(f"Resuming after {stored.games_done:,} of {total}{', with more to play' if added else ''}.")
    return replace(plan, settings=settings, resumes=stored.slug)


def _check_playable(specs: Mapping[str, BotSpec], variant: Variant, locking: Locking) -> dict[str, int]:
    """Return how long each bot can wait for its endpoint in a move, in microseconds, by label.

    Raises BotError for a bot that cannot be had for the variant: before the games, not in each of them.
    """
    waits_us = {}
    with ExitStack() as stack:
        for label, spec in specs.items():
            if check_startable(spec, locking):
                continue
            bot = make_built_in(spec, variant)
            # Create all bots at once, and release their resources to their processes: two learners cannot use one file.
            bot.prepare()
            stack.callback(bot.close)
            if bot.wait:
                waits_us[label] = round(bot.wait * 1e6)
    return waits_us
