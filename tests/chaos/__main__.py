"""Chaos for as long as there is time: `python -m tests.chaos troubles --count 1000 --minutes 60`.

Exits with 1 if a game was lost, played twice or is another one, if ratings differ from a rebuild, if something was left
behind, if an honest bot lost on time, or if memory has grown.
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

from tests.chaos.attacks import ATTACKS, OF_COST
from tests.chaos.fuzz import fuzz
from tests.chaos.honest import WORLDS, AttackResult, HonestWorld, ProxiedWorld, honest_matches, measure_attack
from tests.chaos.run import run_chaos
from tests.chaos.troubles import TROUBLES
from tests.chaos.world import Tally
from tests.support.mounts import small_disk
from tests.support.root import ROOT
from tests.support.tools import run

_EVERY = 20
_DISK_MIB = 96
_MOST_MIB = 500
_WARM, _GROWTH = 0.3, 1.1
_LEAST_SHARE, _SLOWEST_MEDIAN, _MOST_MIB_OF_COST = 0.8, 0.5, 300
"""Limits under the attacks `OF_COST`: the share of games, seconds of an answer or page, and the server's size."""
_CONSOLE = Console(soft_wrap=True)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1)
    parts = parser.add_subparsers(dest="part", required=True)
    troubles = parts.add_parser("troubles", help="kills, stops, broken connections, a full disk, a clock that jumps")
    troubles.add_argument("--count", type=int, default=1_000)
    troubles.add_argument("--minutes", type=float, default=60.0)
    troubles.add_argument("--only", nargs="+", choices=TROUBLES, default=list(TROUBLES), metavar="TROUBLE")
    attacks = parts.add_parser("attacks", help="an honest match with clocks under each attack")
    attacks.add_argument("--seconds", type=float, default=30.0)
    attacks.add_argument("--only", nargs="+", choices=ATTACKS, default=list(ATTACKS), metavar="ATTACK")
    rubbish = parts.add_parser("fuzz", help="random bytes, changed frames and wrong connections during that match")
    rubbish.add_argument("--frames", type=int, default=1_000_000)
    rubbish.add_argument("--connections", type=int, default=10_000)
    rubbish.add_argument("--minutes", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noughts-chaos-") as folder:
        if options.part == "troubles":
            return _troubles(Path(folder), options)
        if options.part == "fuzz":
            return asyncio.run(_fuzz(Path(folder), options))
        return asyncio.run(_attacks(Path(folder), options))


def _troubles(folder: Path, options: argparse.Namespace) -> int:
    disk_mib = _DISK_MIB
    try:
        with small_disk(folder / "probe", "size=1m"):
            pass
    except pytest.skip.Exception as refusal:
        _CONSOLE.print(str(refusal))
        options.only, disk_mib = [name for name in options.only if name != "fill disk"], 0
    chance = random.Random(options.seed)

    def chosen() -> Iterator[str]:
        for _ in range(options.count):
            yield chance.choice(options.only)

    began = time.monotonic()

    def told(tally: Tally) -> None:
        if tally.troubles.total() % _EVERY == 0:
            so_far = f"{time.monotonic() - began:6.0f} s {tally.troubles.total():6,} troubles {tally.rounds:4} rounds"
            _CONSOLE.print(f"{so_far} {tally.server_mib:.0f} MiB")

    work = run_chaos(
        folder, chosen(), seconds=options.minutes * 60, seed=options.seed, disk_mib=disk_mib, on_trouble=told
    )
    tally = asyncio.run(work)
    table = Table("", "", show_header=False)
    rows = {
        **dict(sorted(tally.troubles.items())),
        "troubles": tally.troubles.total(),
        "rounds of every format": tally.rounds,
        "games": tally.games,
        "units played again": tally.replayed,
        "games lost by a killed child": tally.crashed,
        "uploads": tally.uploads,
        "at the website": "\n".join(f"{what}: {times:,}" for what, times in tally.visits.most_common(8)),
        "lost": tally.lost,
        "doubled": tally.doubled,
        "differing": tally.differing,
        "ratings that differ": tally.ratings,
        "processes that died": "\n".join(tally.died) or 0,
        "left behind": ", ".join(tally.left) or 0,
        "largest server, MiB": f"{tally.server_mib:.0f}",
        "seconds for each trouble": f"{(time.monotonic() - began) / max(1, tally.troubles.total()):.1f}",
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
    async with honest_matches(folder) as made:
        # What a server needs once for everything that it has never seen is no growth.
        for part, share in (("warm", _WARM), ("fuzz", 1.0)):
            work = partial(
                fuzz,
                seed=options.seed,
                frames=round(options.frames * share),
                connections=round(options.connections * share),
            )
            result = await measure_attack(made, part, work, options.minutes * 60)
            _CONSOLE.print(result, markup=False)
    grew = result.after_mib > result.before_mib * _GROWTH
    faults = [what for what in result.counts if what.startswith(("fault", "no answer", "ended by"))]
    _CONSOLE.print(
        ", ".join(f"{result.counts[what]:,} {what}" for what in ("frames", "requests", "connections")) + ";"
        f" {result.plies / result.seconds:.0f} honest plies/s, {result.lost} games lost on time;"
        f" {result.before_mib:.0f} MiB before, {result.most_mib:.0f} most, {result.after_mib:.0f} after"
    )
    return int(bool(faults or grew or result.died or result.lost or made.tally.traceback))


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
        (within := folder / name.replace(" ", "-")).mkdir()
        kind = WORLDS.get(name, HonestWorld)
        async with honest_matches(within, kind) as made:
            shown = f"{name}{', at the proxy' * (kind is ProxiedWorld)}"
            result = await measure_attack(made, shown, ATTACKS[name], options.seconds, calm_seconds=options.seconds / 2)
        result.died += [made.tally.traceback] * bool(made.tally.traceback)
        results.append(result)
        told = ", ".join(f"{what}: {times:,}" for what, times in result.counts.items())
        table.add_row(
            result.attack + (" (the server died)" if result.died else ""),
            f"{result.plies / result.seconds:.0f}",
            f"{result.share:.0%}",
            f"{result.median_seconds:.2f}",
            str(result.lost),
            *(f"{mib:.0f}" for mib in (result.before_mib, result.most_mib, result.after_mib, result.child_mib)),
            f"{result.page_seconds:.2f}" if result.visits else "",
            told,
        )
        _CONSOLE.print(result, markup=False)
    _CONSOLE.print(table)
    return int(any(map(_is_hurt, results)))


def _is_hurt(result: AttackResult) -> bool:
    if result.died or result.lost or result.most_mib > _MOST_MIB:
        return True
    if result.attack not in OF_COST:
        return False
    return result.share < _LEAST_SHARE or result.median_seconds > _SLOWEST_MEDIAN or result.most_mib > _MOST_MIB_OF_COST


if __name__ == "__main__":
    sys.exit(main())
