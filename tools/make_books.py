"""Make the books of openings that come with the package: the same bytes each time.

    .venv/bin/python tools/make_books.py            # writes server/noughts_server/openings/books/*.txt, ten minutes
    .venv/bin/python tools/make_books.py --measure  # plays each opening of the books out: who wins?

An opening of a book has 4, 5, 6 or 7 plies, drawn at random near the middle of the board. It is taken if the search of
the reference bot `threats` sees neither side ahead by more than a little after 1,000 positions, and again after 8,000;
and if no other in the book is the same after turning and mirroring.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from noughts_bots.reference.threats.bot import ThreatsBot
from noughts_referee.rules import Draws, Position, Variant, cell_names, parse_variant, symmetries
from noughts_server.openings.balance import lead
from noughts_server.openings.books import BOOKS, book_lines
from noughts_server.openings.by_chance import drawn_plies
from noughts_server.openings.reading import read_opening

FOLDER = Path(__file__).parent.parent / "server/noughts_server/openings/books"
VARIANTS = {"balanced15": "gomoku", "balanced20": "gomoku20"}
OPENINGS = 240
"""Openings of each book."""
PLIES = (4, 5, 6, 7)
"""Lengths of the openings, used in turn."""
SEED = 2026
"""Seed of the random plies, so that the books can be made again."""
# A quick search rejects most candidates before the complete one.
QUICK_NODES, QUICK_LEAD = 1_000, 40
NODES, MOST_LEAD = 8_000, 20
MEASURED_NODES = 600


def make(name: str) -> Iterator[tuple[int, ...]]:
    """Yield the openings of a book."""
    variant = parse_variant(VARIANTS[name])
    seen: set[tuple[int, int]] = set()
    found = number = 0
    while found < OPENINGS:
        number += 1
        cells = drawn_plies(variant, PLIES[found % len(PLIES)], Draws(SEED, number), natural=True)
        if cells is None or _canonical(variant, cells) in seen:
            continue
        position = Position.after(variant, cells)
        if abs(lead(position, QUICK_NODES)) > QUICK_LEAD or abs(lead(position, NODES)) > MOST_LEAD:
            continue
        seen.add(_canonical(variant, cells))
        found += 1
        yield cells


def _canonical(variant: Variant, cells: tuple[int, ...]) -> tuple[int, int]:
    """Return the stones of both sides in the symmetry with the smallest numbers; the order of play does not count."""
    return min(
        (sum(1 << image[cell] for cell in cells[::2]), sum(1 << image[cell] for cell in cells[1::2]))
        for image in symmetries(variant)
    )


def write(name: str) -> None:
    """Write a book."""
    variant = parse_variant(VARIANTS[name])
    lines = [
        f"# {OPENINGS} openings for {variant.name}, made by tools/make_books.py: {min(PLIES)} to {max(PLIES)} plies.",
        f"# After {NODES:,} positions `threats` sees neither side more than {MOST_LEAD} ahead (an open three: 60).",
    ]
    for cells in make(name):
        lines.append(cell_names(variant, cells))
        print(f"\r{name}: {len(lines) - 2}", end="", flush=True)
    (FOLDER / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print()


def measure(name: str) -> None:
    """Play each opening to its end with `threats` on both sides, and print the results."""
    variant, bot = parse_variant(VARIANTS[name]), ThreatsBot(nodes=MEASURED_NODES)
    results = Counter(
        _winner_of(variant, bot, read_opening(line, variant)) for line in book_lines(name) if not line.startswith("#")
    )
    wins, draws, losses = results[0], results[None], results[1]
    score = (wins + draws / 2) / sum(results.values())
    print(f"{name}: X wins {wins}, {draws} draws, O wins {losses}: {score:.1%} for X")


def _winner_of(variant: Variant, bot: ThreatsBot, opening: tuple[int, ...]) -> int | None:
    start = Position.after(variant, opening)
    own, opponent, side = start.own, start.opponent, start.side
    while True:
        cell = bot.consider(Position(variant, own=own, opponent=opponent, side=side)).candidates[0]
        outcome = variant.outcome(own | 1 << cell, opponent, cell, side)
        if outcome is not None:
            return outcome.winner
        own, opponent, side = opponent, own | 1 << cell, 1 - side


def main() -> None:
    """Make or measure the books."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="play the books out instead of making them")
    parser.add_argument("--book", choices=BOOKS, action="append", help="only this book")
    arguments = parser.parse_args()
    for name in arguments.book or BOOKS:
        (measure if arguments.measure else write)(name)


if __name__ == "__main__":
    main()
