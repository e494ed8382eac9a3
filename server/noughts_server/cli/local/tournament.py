"""`match`, `demo` and `tournament run`: everything on this machine, ended by itself."""

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from noughts_bots.reference.specs import BotSpec, make_built_in, unique_labels
from noughts_proto.v1.tournaments_pb2 import TOURNAMENT_STATE_CANCELLED
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.clock import MARGIN_US
from noughts_referee.rules import Variant, first_common, parse_variant
from noughts_server.cli import child_options, completion, format_options, options, output, printing
from noughts_server.cli.child_options import MemoryOption
from noughts_server.cli.client import AtServer
from noughts_server.cli.drawing.match_summary import MatchSummary, terminations_line
from noughts_server.cli.drawing.rating_table import ratings_document, show_fit
from noughts_server.cli.drawing.standings import TournamentTables
from noughts_server.cli.drawing.tables import show_table
from noughts_server.cli.drawing.tournament import show_tournament
from noughts_server.cli.dry_run import show_forecasts
from noughts_server.cli.errors import INTERRUPTED, Problem, UsageProblem, problems_with
from noughts_server.cli.former_command import command
from noughts_server.cli.local.children import check_startable, engine_options
from noughts_server.cli.local.faults import faults_document, leave_if_benched, show_faults
from noughts_server.cli.local.run import beside_games, leave_if_ended_early, play
from noughts_server.cli.local.trial import pace_by_trial
from noughts_server.cli.openings_options import openings_document, openings_wording
from noughts_server.cli.options.game import DryRunOption, SeedOption, TitleOption
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.statistics import FitOption, SprtOption
from noughts_server.cli.signals import run_loop
from noughts_server.cli.tournament_options import LARGEST_GAMES, FormatOptions, GameOptions, PerPairOption
from noughts_server.competition.formats import MATCH
from noughts_server.launching.launcher import Locking, launching
from noughts_server.local.plan import LocalOutcome, LocalPlan
from noughts_server.openings.sufficiency import more_openings
from noughts_server.tables.crosstable import scores_of

_DEMO_SPECS = (
    "random",
    "pascal:level=0",
    "pascal:level=1",
    *(f"nextstep:depth={depth}" for depth in range(1, 10)),
    "minimax",
    "three-stage",
)
_DEMO_GAMES_IN_FLIGHT = 256
_LONGEST_TITLE = 200
_FIX_AT_SERVER = {
    "-o": "Leave it out: the server keeps the games, and `noughts game list NAME` and the tournament's page show them.",
    "--db": "Leave it out: the server keeps the games in its own database.",
    "--margin-of": "Use --margin, the time margin of all bots.",
    "--times": "Leave it out: the server keeps the times of all moves.",
    "--dry-run": "Use `noughts tournament create NAME --dry-run`.",
}
"""What to do about an option of this machine if some bots are on a server; for the others, leave them out."""

FirstArgument = Annotated[
    str, Argument(metavar="A", autocompletion=completion.specs, help="Bot, e.g. `random` or `nextstep:depth=3`")
]
SecondArgument = Annotated[str, Argument(metavar="B", autocompletion=completion.specs, help="Opponent of A")]

_DEMO_HINT = "Try next: noughts match pascal:level=1 nextstep:depth=3 --games 200"


@dataclass(frozen=True)
class MachineOptions(child_options.SandboxOptions):
    """How this machine plays: options that a tournament on a server cannot have."""

    margin: options.LocalMarginOption = ""
    margin_of: Annotated[
        list[str] | None,
        Option(
            "--margin-of",
            metavar="LABEL=DURATION",
            help="The same for one bot, e.g. `Slow=200ms` (repeatable)",
            rich_help_panel="Time control",
        ),
    ] = None
    start_timeout: child_options.StartTimeoutOption = child_options.START_SECONDS
    processes: child_options.ProcessesOption = 0
    affinity: child_options.AffinityOption = None
    memory: MemoryOption = ""
    memory_total: Annotated[
        str,
        Option(
            "--memory-total",
            metavar="SIZE",
            help="Memory limit of all sandboxed processes. Default: 75 % of system memory",
            rich_help_panel="Players",
        ),
    ] = ""
    log: Annotated[
        Path | None,
        Option(
            "--log",
            metavar="DIR",
            help="Folder for the dialogue with Gomocup engines, one file per game",
            rich_help_panel="Output",
        ),
    ] = None
    messages: Annotated[
        Path | None,
        Option(
            "--messages",
            metavar="FILE",
            help="File for comments from Gomocup engines, one JSON object per line",
            rich_help_panel="Output",
        ),
    ] = None
    database: options.GamesDatabaseOption = None
    resume: Annotated[
        bool,
        Option("--resume", help="Resume the newest run in --db; you can add games or bots", rich_help_panel="Output"),
    ] = False
    games_file: options.GamesFileOption = None
    times: Annotated[
        bool, Option("--times", help="With -o: add the thinking time of each move", rich_help_panel="Output")
    ] = False
    every: options.EveryOption = None
    fatal: Annotated[
        bool,
        Option(
            "--fatal",
            help="Stop with exit code 1 when a bot first loses through its own fault",
            rich_help_panel="Players",
        ),
    ] = False
    dry_run: DryRunOption = False

    def refuse_at_server(self) -> None:
        """Raise UsageProblem if one of these options was given."""
        given = {
            "--require-lock": self.require_lock,
            "--no-lock": self.no_lock,
            "--margin-of": self.margin_of,
            "--start-timeout": self.start_timeout != child_options.START_SECONDS,
            "--processes": self.processes,
            "--affinity": self.affinity is not None,
            "--memory": self.memory,
            "--memory-total": self.memory_total,
            "--log": self.log,
            "--messages": self.messages,
            "--db": self.database,
            "--resume": self.resume,
            "-o": self.games_file,
            "--times": self.times,
            "--every": self.every,
            "--fatal": self.fatal,
            "--dry-run": self.dry_run,
        }
        for option, is_given in given.items():
            if is_given:
                raise UsageProblem(
                    f"{option}: got a bot on a server as well, expected only bots on this machine",
                    _FIX_AT_SERVER.get(option, f"Leave {option} out, or play without bots of a server."),
                )


@dataclass(frozen=True)
class LocalOptions(MachineOptions, GameOptions):
    """The options that `match` and `tournament run` share."""


@dataclass(frozen=True)
class RunOptions(LocalOptions, FormatOptions):
    """The same for `tournament run`, where there are formats."""

    variant: Annotated[
        str | None,
        Option(
            "--variant",
            metavar="V",
            autocompletion=completion.variants,
            help="Variant. Default: the first that all bots play, else tictactoe",
            rich_help_panel="Game",
        ),
    ] = None
    fit: FitOption = False


@dataclass(frozen=True)
class MatchOptions(LocalOptions):
    """The same for `match`, where there is one pair."""

    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=1,
            max=LARGEST_GAMES,
            help="Games per pair (A and B); A moves first in game 1",
            rich_help_panel="Game",
        ),
    ] = 2
    sprt: SprtOption = None

    def _format_settings(self) -> dict[str, Any]:
        if self.sprt is None:
            return {}
        return FormatOptions(games=self.games, schedule=str(MATCH), sprt=self.sprt)._format_settings()


@command(
    example="""
$ noughts demo --seed 1
...
 1  minimax              18½    11     15       0    1615
 2  nextstep:depth=9     18½    11     15       0    1619
...
182 games: 94 won, 88 board full
...
""",
    extra="server",
)
def demo(games: PerPairOption = 2, seed: SeedOption = None) -> None:
    """Play a round robin of fourteen reference bots, each in its own process, and rank them."""
    playing = LocalOptions(variant=options.USUAL_VARIANT, games=games, seed=seed, concurrency=_DEMO_GAMES_IN_FLIGHT)
    plan = _plan(list(_DEMO_SPECS), playing, "Demo")
    output.hint(f"{len(plan.specs)} bots, each in its own process, {games} games per pair on a local server.")
    _run_tournament(plan, playing, hint=_DEMO_HINT)


@command(
    example="""
$ noughts match pascal:level=1 nextstep:depth=3 --games 100 --seed 1
...
pascal:level=1        70    41     58       1
...
nextstep:depth=3      30     1     58      41
...
Elo difference: +147 ± 30 (95 %) ...
""",
    extra="server",
)
def match(a: FirstArgument, b: SecondArgument, playing: MatchOptions) -> None:
    """Play A against B and estimate the difference in Elo.

    Games 1 and 2 are a pair with the sides swapped, and so on. Confidence intervals count pairs, not games. If the
    two bots play an identical game again, it counts only once.

    `--sprt elo0=0,elo1=5` also accepts alpha=0.05, beta=0.05, model=logistic or normalized; `--games` is then the
    limit, 100,000 by default. Exit code 1 if a bot could not be started, 2 if its spec is wrong.
    """
    plan = _plan([a, b], playing, f"{a} - {b}"[:_LONGEST_TITLE])
    if playing.dry_run:
        _show_forecast(plan)
        return
    outcome = play(plan, output=playing.games_file, times=playing.times, every=playing.every)
    settings, (first, second) = plan.settings, unique_labels(plan.specs)
    result = MatchSummary(
        settings.variant,
        settings.seed,
        first,
        second,
        outcome.pairs,
        outcome.terminations,
        outcome.match,
        settings.sprt,
    )
    with beside_games(playing.games_file):
        result.show(
            OutputOptions(format=output.FORMAT.get()),
            {**_more_document(plan, outcome), **faults_document(plan, outcome)},
        )
        if not output.is_json():
            _print_more(plan, outcome)
            show_faults(plan, outcome)
    if outcome.exhausted:
        fix = more_openings(settings.openings, parse_variant(settings.variant), settings.games_per_pair)
        printing.warn(
            f"stopped after {printing.count(outcome.games, 'game')}: every new pair repeats an earlier one, so the test"
            f" cannot be decided. Fix: {fix.removesuffix(' in a new test')}"
        )
    leave_if_ended_early(outcome)
    leave_if_benched(outcome)


@command(
    example="""
$ noughts tournament run random three-stage minimax --games 10 --seed 1
...
# bot          1  2  3
1 minimax      ·  8  9
2 three-stage  2  · 7½
3 random       1 2½  ·
...
30 games: 19 won, 11 board full
""",
    extra="server",
)
def run(
    specs: Annotated[
        list[str],
        Argument(
            metavar="SPEC...",
            autocompletion=completion.specs,
            help="Bots, e.g. `random`, `Old=minimax`, 'exec:python bot.py'",
        ),
    ],
    *,
    playing: RunOptions,
    title: TitleOption = "",
    at: AtServer = AtServer(),
) -> None:
    """Play a tournament on this machine, each bot in its own process: reference bots, programs, plugins.

    If some bots are registered on a server (`bot:NAME@VERSION`), the tournament is played there. This command then runs
    the others, and shows the same output as `tournament show`.
    """
    if len(specs) < 2:
        raise UsageProblem(
            f"SPEC: got one bot ({specs[0]}), expected at least two",
            "Add another bot; `noughts bot list --reference` shows the reference bots.",
        )
    if any(spec.kind == "bot" for spec in options.read_specs(specs)):
        playing.refuse_at_server()
        named = [f"{text[4:].partition('@')[0]}={text}" if text.startswith("bot:") else text for text in specs]
        _run_there(_plan(named, playing, title, there=True), playing, at)
        return
    plan = _plan(specs, playing, title)
    with format_options.usage_problems():
        plan.settings.schedule.check_entries(len(plan.specs), plan.settings)
    if caution := plan.settings.schedule.caution(len(plan.specs), plan.settings):
        printing.warn(f"--rounds: {caution}")
    if playing.dry_run:
        _show_forecast(plan)
        return
    _run_tournament(plan, playing)


def _run_there(plan: LocalPlan, playing: RunOptions, at: AtServer) -> None:
    from noughts_server.cli.run_on_server import play_there

    with at.connected(token_needed=True) as client:
        played = play_there(client, plan.specs, plan.settings)
        show_tournament(client, played, fit=playing.fit)
    # The server gives a reason for what it cancels itself.
    if played.state == TOURNAMENT_STATE_CANCELLED and not played.reason:
        printing.note(f"Stopped after {printing.count(played.games_done, 'game')}.")
        if not plan.settings.schedule.endless:
            raise SystemExit(INTERRUPTED)
    if played.reason:
        raise Problem(f"{played.name} was cancelled: {played.reason}")


def _show_forecast(plan: LocalPlan) -> None:
    show_forecasts(plan.settings, [len(plan.specs)], pace_by_trial(plan), one=True)


def _plan(specs: list[str], playing: LocalOptions, title: str, *, there: bool = False) -> LocalPlan:
    """What the options ask for; `there`: bots of a server play, too.

    Raises UsageProblem, BotError and what else is wrong with them.
    """
    if playing.times and playing.games_file is None:
        raise UsageProblem("--times: got no file to write them to, expected -o FILE as well")
    # Read before the server's parts are loaded: a slip of the pen is answered at once.
    read_specs = options.read_specs(specs)
    for spec in read_specs:
        if playing.fuel is not None and spec.child_kind is not None and not spec.child_kind.takes_fuel:
            raise UsageProblem(
                f"--fuel {playing.fuel}: got {spec}, expected wasm: and reference bots",
                "Leave out --fuel: it cannot limit other kinds of bots.",
            )
    margin_us = options.read_margin(playing.margin) if playing.margin else None
    memory_bytes = child_options.read_memory(playing.memory)
    all_memory_bytes = child_options.read_memory(playing.memory_total, "--memory-total")
    labels = unique_labels(read_specs)
    own_times = options.read_times_of(playing.time_of, labels)
    own_margins_us = options.read_margins_of(playing.margin_of, labels)
    for label, spec in zip(labels, read_specs, strict=True):
        said = engine_options(spec)
        if said is not None and said.time:
            own_times.setdefault(label, options.read_time(said.time, f"{label}, option time"))
        if said is not None and said.margin and there:
            raise UsageProblem(
                f"{label}: got option margin={said.margin} and a bot on a server, where all bots have one time margin",
                "Remove the option and use --margin, the time margin of all bots.",
            )
        if said is not None and said.margin:
            own_margins_us.setdefault(label, options.read_margin(said.margin, f"{label}, option margin"))
    here = {label: spec for label, spec in zip(labels, read_specs, strict=True) if not there or spec.kind != "bot"}
    playing = _with_variant(playing, here)
    variant = options.read_variant(playing.variant or options.USUAL_VARIANT, playing.opening_rule)
    # Runs here keep the scores of programs, plugins and engines; those of reference bots alone are not worth the time.
    keep = any(spec.asks_an_endpoint or (not there and spec.child_kind is not None) for spec in read_specs)
    seed = options.read_seed(playing.seed, secret=there)
    margin_ms = options.read_tournament_margin(playing.margin) if there else 0
    settings = playing.settings(own_times, seed=seed, title=title, keep_scores=keep, margin_ms=margin_ms)
    waits_us = _check_playable(here, variant, playing.locking)
    usual_us = MARGIN_US if margin_us is None else margin_us

    plan = LocalPlan(
        specs=read_specs,
        settings=settings,
        margin_us=margin_us,
        own_margins_us={label: usual_us + wait_us for label, wait_us in waits_us.items()} | own_margins_us,
        database=options.read_database(playing.database),
        children=ChildSettings(start=playing.start_timeout),
        **printing.picked(playing, "locking", "processes", "affinity", "log", "messages", "fatal"),
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
        options.own_variant(names)
    variant = first_common(declared)
    if variant is None:
        each = "; ".join(
            f"{label} plays {', '.join(names)}" for label, names in zip(specs, declared, strict=True) if names
        )
        raise UsageProblem(f"--variant: the bots have no variant in common: {each}", "Choose other bots.")
    return replace(playing, variant=variant)


def _resumed(plan: LocalPlan, *, same_seed: bool) -> LocalPlan:
    """The plan for what its database has begun. Raises UsageProblem, and what is wrong with the database."""
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
            # All hold at once what they need alone, and give it back to their processes: two cannot learn in one file.
            bot.prepare()
            stack.callback(bot.close)
            if bot.wait:
                waits_us[label] = round(bot.wait * 1e6)
    return waits_us


def _run_tournament(plan: LocalPlan, playing: LocalOptions, hint: str = "") -> None:
    outcome = play(plan, output=playing.games_file, times=playing.times, every=playing.every)
    bracket = plan.settings.schedule.places_by_bracket
    tables = TournamentTables(outcome.standings, scores_of(outcome.pairs), outcome.matches, bracket=bracket)
    fitted = tables.fit() if isinstance(playing, RunOptions) and playing.fit else None
    with beside_games(playing.games_file):
        if output.is_json():
            fit = {"fit": ratings_document(fitted)} if fitted is not None else {}
            document = {
                "games": outcome.games,
                **tables.document(),
                "variant": plan.settings.variant,
                **printing.seed_document(plan.settings.seed),
                "terminations": outcome.terminations,
                **_more_document(plan, outcome),
            }
            printing.print_json({**document, **fit, **faults_document(plan, outcome)})
        else:
            _print_tournament(plan, outcome, tables, hint)
            if fitted is not None:
                show_fit(fitted)
            show_faults(plan, outcome)
    leave_if_ended_early(outcome)
    leave_if_benched(outcome)


def _more_document(plan: LocalPlan, outcome: LocalOutcome) -> dict[str, Any]:
    """`{"own_times": {LABEL: T}}`, `"openings"` and `"models"`, where there are any."""
    own = {label: str(time) for label, time in plan.settings.own_times.items()}
    openings = openings_document(plan.settings.openings)
    models = outcome.models.document() if outcome.models else []
    more = {"own_times": own, "openings": openings, "models": models}
    return {name: value for name, value in more.items() if value}


def _print_more(plan: LocalPlan, outcome: LocalOutcome) -> None:
    own = [f"{label} {time}" for label, time in plan.settings.own_times.items()]
    if openings := openings_wording(plan.settings.openings):
        printing.stdout().print(openings[0].upper() + openings[1:], soft_wrap=True)
    if own:
        printing.stdout().print(printing.printable(f"Time {plan.settings.time}; {', '.join(own)}"), soft_wrap=True)
    if outcome.models and outcome.models.rows:
        printing.stdout().print()
        show_table(printing.stdout(), outcome.models)


def _print_tournament(plan: LocalPlan, outcome: LocalOutcome, tables: TournamentTables, hint: str) -> None:
    console, settings = printing.stdout(), plan.settings
    title = settings.title or settings.schedule.title
    printing.heading(console, f"{title}: {settings.variant}, seed {settings.seed}")
    console.print()
    tables.print_crosstable(console)
    console.print()
    if outcome.matches:
        tables.print_pairings(console)
        console.print()
    printing.heading(console, "Leaderboard")
    tables.print_standings(console)
    console.print()
    console.print(terminations_line(outcome.games, outcome.terminations))
    _print_more(plan, outcome)
    if hint:
        console.print(hint)
