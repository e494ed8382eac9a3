"""What it costs to say who plays whom: Swiss rounds, and encounters of a ladder.

    python benchmarks/pairing.py [--entries 200] [--rounds 9] [--bots 10000] [--encounters 20000] [--format json]

No game is played: results are drawn, the better bot by an invented rating winning more often. The processor's time of
pairing alone is counted. On the ladder, 1,000 encounters of two games are open at any time and end in a drawn order;
the time of an encounter holds the search for its pair, its begin and its end.
"""

import argparse
import heapq
import json
import platform
import sys
from random import Random
from time import process_time

from noughts_server.competition.formats import SWISS
from noughts_server.competition.formats.ladder import Ladder
from noughts_server.competition.pairing_batch import Field, Played

_OPEN = 1_000


def _points(chance: Random, difference: float) -> float:
    """Of two games, one in ten drawn."""
    expected = 1 / (1 + 10 ** (-difference / 400))
    return sum(0.5 if chance.random() < 0.1 else float(chance.random() < expected) for _ in range(2))


def swiss_rounds(entries: int, rounds: int, seed: int) -> list[float]:
    """Seconds for each round."""
    chance = Random(seed)
    ratings = sorted((chance.gauss(1500, 200) for _ in range(entries)), reverse=True)
    played: list[Played] = []
    byes: list[tuple[int, int]] = []
    seconds = []
    for _ in range(rounds):
        begin = process_time()
        wave = SWISS.next_wave(Field(entries, played=played, byes=byes, rounds=rounds, seed=seed))
        seconds.append(process_time() - begin)
        if wave is None:
            raise RuntimeError(f"no round {len(seconds)} of {rounds} for {entries} entries")
        for first, second in wave.encounters:
            points = _points(chance, ratings[first] - ratings[second])
            played.append(Played(wave.round, first, second, points, 2 - points, 2))
        byes += [(wave.round, entry) for entry in wave.byes]
    return seconds


def ladder_seconds(bots: int, encounters: int, seed: int) -> float:
    """Seconds for so many encounters."""
    chance = Random(seed)
    ratings = [chance.gauss(1500, 200) for _ in range(bots)]
    ladder = Ladder()
    for entry in range(bots):
        ladder.add(entry)
    playing: list[tuple[float, int, int]] = []
    now = seconds = 0.0
    for _ in range(encounters):
        begin = process_time()
        pairs = ladder.pairs(min(_OPEN, bots // 4) - len(playing))
        for first, second in pairs:
            ladder.began(first, second)
        seconds += process_time() - begin
        for pair in pairs:
            heapq.heappush(playing, (now + chance.expovariate(1), *pair))
        now, first, second = heapq.heappop(playing)
        points = _points(chance, ratings[first] - ratings[second])
        begin = process_time()
        ladder.played(first, second, points, 2 - points)
        seconds += process_time() - begin
    return seconds


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--entries", type=int, default=200, help="of the Swiss tournament")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--bots", type=int, default=10_000, help="on the ladder")
    parser.add_argument("--encounters", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--format", choices=["text", "json"], default="text")
    options = parser.parse_args()
    # The matching's library is loaded once, before anything is measured.
    swiss_rounds(8, 3, options.seed)
    rounds = swiss_rounds(options.entries, options.rounds, options.seed)
    ladder = ladder_seconds(options.bots, options.encounters, options.seed) / options.encounters
    if options.format == "json":
        document = {
            "python": platform.python_version(),
            "swiss": {"entries": options.entries, "seconds_of_rounds": rounds, "seconds": sum(rounds)},
            "ladder": {"bots": options.bots, "encounters": options.encounters, "seconds_per_encounter": ladder},
        }
        json.dump(document, sys.stdout, indent=2)
        print()
        return
    print(
        f"Swiss: {options.entries} entries, {options.rounds} rounds in {sum(rounds):.2f} s, "
        f"the slowest in {max(rounds):.2f} s"
    )
    print(
        f"ladder: {options.bots} bots, {ladder * 1000:.3f} ms an encounter, {ladder * 500:.3f} ms a game "
        f"({options.encounters} encounters)"
    )


if __name__ == "__main__":
    main()
