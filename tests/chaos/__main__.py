"""Long tests of a server under disruptions, attacks and wrong input: `python -m tests.chaos disruptions --minutes 60`.

The exit code is 1 if a game is missing, stored twice or different, if ratings differ from a rebuild, if processes,
tasks or files remain, if an honest bot lost on time, or if the server used too much memory.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from tests.chaos.attacks import ATTACKS, COSTLY_ATTACKS
from tests.chaos.disruptions import DISRUPTIONS
from tests.chaos.fuzz import fuzz
from tests.chaos.honest import WORLDS, AttackResult, HonestWorld, ProxiedWorld, honest_matches, measure_attack
from tests.chaos.run import run_chaos
from tests.chaos.world import Tally
from tests.support.mounts import small_disk
from tests.support.root import ROOT
from tests.support.tools import run

_DISRUPTIONS_PER_LINE = 20
"""A line of progress is printed after this number of disruptions."""
_DISK_MIB = 96
_MOST_MIB = 500
"""The largest size of a server."""
_WARM_UP_SHARE = 0.3
"""The share of the random input that is sent before memory is measured."""
_MOST_GROWTH = 1.1
"""The largest ratio of the server's sizes after and before the random input."""
_LEAST_SHARE, _SLOWEST_MEDIAN, _MOST_MIB_OF_COST = 0.8, 0.5, 300
"""Limits under `COSTLY_ATTACKS`: share of the undisturbed rate, seconds for an answer or page, size of the server."""
_CONSOLE = Console(soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parts = parser.add_subparsers(dest="part", required=True)
    disruptions = parts.add_parser(
        "disruptions", help="kills, stops, broken connections, a full disk, a clock that jumps"
    )
    disruptions.add_argument("--count", type=int, default=1_000)
    disruptions.add_argument("--minutes", type=float, default=60.0)
    disruptions.add_argument("--only", nargs="+", choices=DISRUPTIONS, default=list(DISRUPTIONS), metavar="DISRUPTION")
    attacks = parts.add_parser("attacks", help="an honest match with clocks under each attack")
    attacks.add_argument("--seconds", type=float, default=30.0)
    attacks.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS), metavar="ATTACK")
    random_input = parts.add_parser("fuzz", help="random bytes, changed frames and wrong connections in that match")
    random_input.add_argument("--frames", type=int, default=1_000_000)
    random_input.add_argument("--connections", type=int, default=10_000)
    random_input.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noughts-chaos-") as folder:
        if options.part == "disruptions":
            return _disruptions(Path(folder), options)
        if options.part == "fuzz":
            return asyncio.run(_fuzz(Path(folder), options))
        return asyncio.run(_attacks(Path(folder), options))


def _disruptions(folder: Path, options: argparse.Namespace) -> int:
    disk_mib = _DISK_MIB
    try:
        with small_disk(folder / "probe", "size=1m"):
            pass
    except pytest.skip.Exception as refusal:
        _CONSOLE.print(str(refusal))
        options.only, disk_mib = [name for name in options.only if name != "fill disk"], 0
    rng = random.Random(options.seed)

    def random_disruptions() -> Iterator[str]:
        for _ in range(options.count):
            yield rng.choice(options.only)

    began = time.monotonic()

    def print_progress(tally: Tally) -> None:
        if tally.disruptions.total() % _DISRUPTIONS_PER_LINE == 0:
            progress = (
                f"{time.monotonic() - began:6.0f} s {tally.disruptions.total():6,} disruptions {tally.rounds:4} rounds"
            )
            _CONSOLE.print(f"{progress} {tally.server_mib:.0f} MiB")

    work = run_chaos(
        folder,
        random_disruptions(),
        seconds=options.minutes * 60,
        seed=options.seed,
        disk_mib=disk_mib,
        on_disruption=print_progress,
    )
    tally = asyncio.run(work)
    table = Table("", "", show_header=False)
    rows = {
        **dict(sorted(tally.disruptions.items())),
        "disruptions": tally.disruptions.total(),
        "rounds of every format": tally.rounds,
        "games": tally.games,
        "units played again": tally.replayed,
        "games lost by a killed child": tally.crashed,
        "uploads": tally.uploads,
        "at the website": "\n".join(f"{visit}: {times:,}" for visit, times in tally.visits.most_common(8)),
        "lost": tally.lost,
        "doubled": tally.doubled,
        "differing": tally.differing,
        "ratings that differ": tally.ratings,
        "processes that died": "\n".join(tally.died) or 0,
        "left behind": ", ".join(tally.left) or 0,
        "largest server, MiB": f"{tally.server_mib:.0f}",
        "seconds for each disruption": f"{(time.monotonic() - began) / max(1, tally.disruptions.total()):.1f}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": run("git", "rev-parse", "--short", "HEAD", cwd=ROOT).strip(),
    }
    for name, value in rows.items():
        table.add_row(name, f"{value:,}" if isinstance(value, int) else value)
    _CONSOLE.print(table)
    if tally.traceback:
        _CONSOLE.print(f"the first traceback of a server:\n{tally.traceback}", markup=False)
    return int(not tally.is_clean or tally.server_mib > _MOST_MIB)


async def _fuzz(folder: Path, options: argparse.Namespace) -> int:
    async with honest_matches(folder) as world:
        # Memory that a server needs once for each new kind of input is not growth.
        for part, share in (("warm", _WARM_UP_SHARE), ("fuzz", 1.0)):
            work = partial(
                fuzz,
                seed=options.seed,
                frames=round(options.frames * share),
                connections=round(options.connections * share),
            )
            result = await measure_attack(world, part, work, options.minutes * 60)
            _CONSOLE.print(result, markup=False)
    has_grown = result.after_mib > result.before_mib * _MOST_GROWTH
    faults = [outcome for outcome in result.counts if outcome.startswith(("fault", "no answer", "ended by"))]
    _CONSOLE.print(
        ", ".join(f"{result.counts[unit]:,} {unit}" for unit in ("frames", "requests", "connections")) + ";"
        f" {result.plies / result.seconds:.0f} honest plies/s, {result.lost} games lost on time;"
        f" {result.before_mib:.0f} MiB before, {result.most_mib:.0f} most, {result.after_mib:.0f} after"
    )
    return int(bool(faults or has_grown or result.died or result.lost or world.tally.traceback))


async def _attacks(folder: Path, options: argparse.Namespace) -> int:
    table = Table(
        "attack",
        "plies/s",
        "share",
        "answer, s",
        "lost",
        "MiB before",
        "most",
        "after",
        "child",
        "page, s",
        "answers to the attacker",
    )
    results: list[AttackResult] = []
    for name in options.only:
        attack_folder = folder / name.replace(" ", "-")
        attack_folder.mkdir()
        kind = WORLDS.get(name, HonestWorld)
        async with honest_matches(attack_folder, kind) as world:
            title = f"{name}, at the proxy" if kind is ProxiedWorld else name
            result = await measure_attack(
                world, title, ATTACKS[name], options.seconds, calm_seconds=options.seconds / 2
            )
        if world.tally.traceback:
            result.died.append(world.tally.traceback)
        results.append(result)
        answers = ", ".join(f"{outcome}: {times:,}" for outcome, times in result.counts.items())
        table.add_row(
            result.attack + (" (the server died)" if result.died else ""),
            f"{result.plies / result.seconds:.0f}",
            f"{result.share:.0%}",
            f"{result.median_seconds:.2f}",
            str(result.lost),
            *(f"{mib:.0f}" for mib in (result.before_mib, result.most_mib, result.after_mib, result.child_mib)),
            f"{result.page_seconds:.2f}" if result.visits else "",
            answers,
        )
        _CONSOLE.print(result, markup=False)
    _CONSOLE.print(table)
    return int(any(_is_too_strong(result) for result in results))


def _is_too_strong(result: AttackResult) -> bool:
    """Return whether the attack exceeded a limit."""
    if result.died or result.lost or result.most_mib > _MOST_MIB:
        return True
    if result.attack not in COSTLY_ATTACKS:
        return False
    return result.share < _LEAST_SHARE or result.median_seconds > _SLOWEST_MEDIAN or result.most_mib > _MOST_MIB_OF_COST


if __name__ == "__main__":
    sys.exit(main())
