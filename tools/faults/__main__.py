"""Put faults into the code one at a time, and report which test finds each of them.

python -m tools.faults [--only NAME ...] [--jobs N] [--with SELECTION] [--near] [--all] [--limit SECONDS]
    [--results FILE]

Faults are tried in temporary work trees of the newest commit, so a change must be committed first. The exit code is 1
if a fault was not found, or if its text is no longer in the code.
"""

import argparse
import json
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from tools.faults.declared import FAULTS
from tools.faults.fault import Fault
from tools.faults.trees import ROOT, Tree, commit, work_tree
from tools.faults.trial import STOP, Selection, try_fault


def main(arguments: Sequence[str]) -> int:
    options = _options().parse_args(arguments)
    chosen = [fault for fault in _all() if not options.only or fault.name in options.only]
    if unknown := set(options.only) - {fault.name for fault in chosen}:
        print(f"--only: unknown faults: {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    if problems := [problem for fault in chosen if (problem := fault.problem(ROOT))]:
        print(*problems, sep="\n", file=sys.stderr)
        return 1
    selection = Selection(options.selection, options.everything, options.limit)
    rows_by_fault = _previous_rows(options.results, selection)
    remaining = [fault for fault in chosen if fault.name not in rows_by_fault]
    for row in _try_faults(remaining, selection, jobs=options.jobs, near_only=options.near):
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        rows_by_fault[row["fault"]] = row
        print(_words(row), flush=True)
    rows = [rows_by_fault[fault.name] for fault in chosen if fault.name in rows_by_fault]
    print(*_table(rows), sep="\n")
    return 0 if all(row["found"] for row in rows) else 1


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.faults", description="Report which test finds each fault.")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="only these faults")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="faults at once (default: 1)")
    parser.add_argument(
        "--with",
        dest="selection",
        default="",
        metavar="SELECTION",
        help="paths of tests, or an expression of marks such as 'not long' (default: the tests of each fault)",
    )
    parser.add_argument("--all", dest="everything", action="store_true", help="run all tests before giving up")
    parser.add_argument("--near", action="store_true", help="run only the tests next to the code")
    parser.add_argument(
        "--limit", type=float, default=3600.0, metavar="SECONDS", help="time limit of a run (default: 3600)"
    )
    parser.add_argument(
        "--results",
        type=Path,
        default=ROOT / "build/faults.jsonl",
        metavar="FILE",
        help="JSON lines; faults that it has are not tried again (default: build/faults.jsonl)",
    )
    return parser


def _all() -> Iterator[Fault]:
    for faults in FAULTS.values():
        yield from faults


def _previous_rows(file: Path, selection: Selection) -> dict[str, dict[str, Any]]:
    """Return the last row of each fault with this selection."""
    if not file.exists():
        return {}
    rows = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return {row["fault"]: row for row in rows if row["selection"] == selection.text}


def _try_faults(
    faults: Sequence[Fault], selection: Selection, *, jobs: int, near_only: bool
) -> Iterator[dict[str, Any]]:
    """Yield a row for each fault, as soon as it was tried."""
    part_of = {fault.name: part for part, faults in FAULTS.items() for fault in faults}
    now = commit()
    with ExitStack() as stack:
        trees: SimpleQueue[Tree] = SimpleQueue()
        for _ in range(min(jobs, len(faults))):
            trees.put(stack.enter_context(work_tree()))

        def tried(fault: Fault) -> dict[str, Any]:
            tree = trees.get()
            try:
                verdict = try_fault(fault, tree, selection, near_only=near_only)
            finally:
                trees.put(tree)
            return {"part": part_of[fault.name], **verdict._asdict(), "selection": selection.text, "commit": now}

        with ThreadPoolExecutor(max(1, jobs)) as pool:
            futures = [pool.submit(tried, fault) for fault in faults]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BaseException:
                STOP.set()
                pool.shutdown(cancel_futures=True)
                raise


def _words(row: Mapping[str, Any]) -> str:
    result = f"found by {row['test']}" if row["found"] else "NOT FOUND"
    note = f" ({row['note']})" if row["note"] else ""
    return f"{row['fault']}: {result}, {row['processor_seconds']} s{note}"


def _table(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "\n| part | fault | found by | stage | processor seconds |\n|---|---|---|---|---|"
    for row in rows:
        test = f"`{row['test']}`" if row["found"] else "not found"
        yield f"| {row['part']} | {row['fault']} | {test} | {row['stage']} | {row['processor_seconds']} |"
    yield f"\n{sum(row['found'] for row in rows)} of {len(rows)} faults found"


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
