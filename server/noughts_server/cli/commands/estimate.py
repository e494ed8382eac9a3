"""The command `noughts estimate`."""

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from html import escape
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from noughts_bots.reference.specs import BotSpec, make_bot, parse_spec
from noughts_bots.sdk.errors import VariantRefused
from noughts_referee.children.child_settings import ChildSettings
from noughts_server.cli import completion, printing
from noughts_server.cli.command import command
from noughts_server.cli.drawing.progress import showing_progress
from noughts_server.cli.errors import INTERRUPTED, Problem, UsageProblem, problems_with
from noughts_server.cli.options.game import SeedOption, read_seed, read_variant
from noughts_server.cli.options.logs import LogLevel, configure_logs
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.sandbox import START_SECONDS, SandboxOptions, StartTimeoutOption
from noughts_server.cli.options.startable import check_startable
from noughts_server.cli.options.time import TimeOption, read_time
from noughts_server.cli.processes.signals import run_loop, two_stages
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.plan import LocalError, LocalPlan, LocalStop, VariantNotPlayed

if TYPE_CHECKING:
    from noughts_server.local.rating_pool import PoolRating


_MOST_GAMES = 10_000
"""Limit of the games of the trial."""


# Sizes of the chart, in pixels.
_WIDTH = 720
_ROW_HEIGHT = 26
_LEFT_MARGIN = 170
_RIGHT_MARGIN = 60


@command(
    example="""
$ noughts estimate py:my_bot.py --variants tictactoe --games 10 --seed 1
py:my_bot.py: 1,... ± ... in the reference pool of tictactoe
rating  bot               points taken off it
...
 1,000  level:elo=1000 ...
...
""",
    extra="server",
)
def estimate(
    spec: Annotated[str, Argument(metavar="SPEC", autocompletion=completion.specs, help="Bot to rate")],
    variants: Annotated[
        str, Option("--variants", "--variant", metavar="NAMES", help="Reference pools, e.g. tictactoe,connect4; or all")
    ] = "tictactoe,connect4",
    games: Annotated[
        int,
        Option(
            "--games",
            metavar="N",
            min=2,
            max=_MOST_GAMES,
            help="Games per pair (the bot and each reference bot)",
            rich_help_panel="Game",
        ),
    ] = 60,
    time: TimeOption = "none",
    seed: SeedOption = None,
    svg: Annotated[
        Path | None,
        Option("--svg", metavar="FILE", help="Chart of the bot's rating in each pool", rich_help_panel="Output"),
    ] = None,
    start_timeout: StartTimeoutOption = START_SECONDS,
    *,
    sandbox: SandboxOptions,
    output: OutputOptions,
) -> None:
    """Rate a bot against reference bots: Elo with its 95 % interval, weakest variant, slowest moves.

    The reference pools of tictactoe, connect4, gomoku and qubic are levels of the bot `level`. 1,000 plays at random.
    """
    from noughts_server.local.rating_pool import exercise
    from noughts_server.local.reference_pools import REFERENCE_POOLS

    parsed = parse_spec(spec)
    if not check_startable(parsed, sandbox.sandbox_mode):
        make_bot(parsed)  # raises an error if its options are wrong
    # The commas of `mnk:7,7,4` belong to its name.
    names = re.split(r",(?!\s*\d+\s*(?:,|$))", variants)
    pools = list(REFERENCE_POOLS) if variants == "all" else [name.strip() for name in names if name.strip()]
    if unknown := [name for name in pools if name not in REFERENCE_POOLS]:
        raise UsageProblem(
            f"--variants {', '.join(unknown)}: expected one or more of {', '.join(REFERENCE_POOLS)}, or all"
        )
    configure_logs(LogLevel.WARNING)
    parsed_seed = read_seed(seed)
    stop = LocalStop()
    settings = TournamentSettings(time=read_time(time), games_per_pair=games + games % 2, seed=parsed_seed)
    children = ChildSettings(start=start_timeout)
    plan = LocalPlan(specs=(parsed,), settings=settings, children=children, sandbox_mode=sandbox.sandbox_mode)
    rate = partial(exercise, plan, stop=stop, on_note=printing.note)
    results = run_loop(_rate_in_variants(parsed, pools, rate, stop))
    if svg is not None:
        _draw(svg, spec, results)
    weakest = max(results, key=lambda result: result.behind).variant if len(results) > 1 else None
    document = {"spec": spec, "seed": parsed_seed, "variants": [result.document() for result in results]}
    output.show({**document, "weakest": weakest}, lambda: _print(spec, results, weakest))
    if stop.finishing.is_set():
        raise SystemExit(INTERRUPTED)


async def _rate_in_variants(
    spec: BotSpec, variants: Sequence[str], rate: "Callable[..., Awaitable[PoolRating]]", stop: LocalStop
) -> "list[PoolRating]":
    """Return the result of `rate` in each variant that the bot plays; only those before an interruption."""
    from noughts_server.local.reference_pools import REFERENCE_POOLS

    results = []
    refusal: Exception | None = None
    for variant in variants:
        with showing_progress() as show, two_stages(stop.finish, stop.abort):
            try:
                if spec.child_kind is None:
                    make_bot(spec, read_variant(variant))  # raises VariantRefused if it does not play the variant
                results.append(await rate(variant=variant, on_progress=show))
            except (VariantRefused, LocalError) as error:
                refusal = error
                printing.note(f"{variant} is left out: {error}")
        if stop.finishing.is_set():
            break
    if not results and refusal is not None:
        if not isinstance(refusal, VariantRefused | VariantNotPlayed):
            raise refusal
        raise Problem(
            str(refusal), f"Choose others with --variants: {', '.join(REFERENCE_POOLS)}, or all."
        ) from refusal
    return results


def _print(spec: str, results: "Sequence[PoolRating]", weakest: str | None) -> None:
    from noughts_server.local.rating_pool import GAMES_AT_ONCE

    console = printing.stdout()
    for result in results:
        printing.heading(console, f"{spec}: {_rating(result)} in the reference pool of {result.variant}")
        rows = [(f"{rating:,.0f}", name, f"{points:g} of {games}") for name, rating, points, games in result.opponents]
        if result.rating is not None:
            rows.append((f"{result.rating:,.0f}", f"> {spec}", f"{result.points:g} of {result.games}"))
        rows.sort(key=lambda row: -float(row[0].replace(",", "")))
        console.print(printing.table((">rating", "bot", ">points taken off it"), rows))
        for fault in result.faults:
            console.print(printing.printable(f"Wrong: it {fault}."), soft_wrap=True)
        slow = ", ".join(
            f"{move.milliseconds:,.1f} ms (ply {move.ply}, {move.opponent})" for move in result.slowest[:3]
        )
        console.print(f"Slowest answers, each for up to {GAMES_AT_ONCE} games: {slow or 'none'}.")
        console.print(f"{result.games} games in {result.seconds:.0f} s.\n")
    if weakest is not None:
        console.print(f"Weakest: {weakest}, compared with the best of its reference pool.")


def _rating(result: "PoolRating") -> str:
    if result.rating is None:
        return "stronger than all bots" if result.points else "weaker than all bots"
    error = f" ± {result.error95:,.0f}" if result.error95 is not None else ""
    return f"{result.rating:,.0f}{error}"


def _draw(file: Path, spec: str, results: "Sequence[PoolRating]") -> None:
    """Write an SVG file: for each variant a scale with the ratings of the pool, and the bot's rating with interval."""
    parts: list[str] = []
    top = 10
    for result in results:
        rows: list[tuple[str, float, float | None]] = [(name, rating, None) for name, rating, _, _ in result.opponents]
        if result.rating is not None:
            rows.append((spec, result.rating, result.error95 or 0.0))
        rows.sort(key=lambda row: -row[1])
        ratings = [rating for _, rating, _ in rows]
        lowest = min(ratings) - 50
        highest = max(ratings) + 50
        scale = (_WIDTH - _LEFT_MARGIN - _RIGHT_MARGIN) / (highest - lowest)
        parts.append(f'<text x="10" y="{top + 16}" class="head">{escape(result.variant)}</text>')
        top += _ROW_HEIGHT
        for name, rating, error in rows:
            x = _LEFT_MARGIN + (rating - lowest) * scale
            y = top + _ROW_HEIGHT / 2
            # Only the row of the bot itself has an interval.
            css = ' class="own"' if error is not None else ""
            parts.append(f'<text x="{_LEFT_MARGIN - 10}" y="{y + 5}" text-anchor="end"{css}>{escape(name)}</text>')
            parts.append(f'<line x1="{_LEFT_MARGIN}" x2="{x:.1f}" y1="{y}" y2="{y}"{css}/>')
            if error:
                parts.append(
                    f'<line x1="{x - error * scale:.1f}" x2="{x + error * scale:.1f}" y1="{y}" y2="{y}" class="error"/>'
                )
            parts.append(
                f'<circle cx="{x:.1f}" cy="{y}" r="5"{css}/><text x="{x + 9:.1f}" y="{y + 5}">{rating:,.0f}</text>'
            )
            top += _ROW_HEIGHT
        top += 12
    template = Template(resources.files(__package__).joinpath("estimate.svg").read_text(encoding="utf-8"))
    title = escape(f"{spec} in the reference pool")
    picture = template.substitute(width=_WIDTH, height=top, title=title, parts="".join(parts))
    with problems_with(f"--svg {file}", OSError, raises=Problem):
        file.write_text(picture, encoding="utf-8")
