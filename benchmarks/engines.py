"""What a game of Gomocup engines takes beyond their thinking: two engines that sleep 100 ms a move.

    python benchmarks/engines.py [--rounds 5]

Each round is one game of two such engines on 15x15, with clocks, in a whole server as `noughts match` runs one, without
the lock, since the engines note in a file how long they thought by their own clocks. Wall time is from the first
question to the last answer, by the same clocks. Prints both and what the one is over the other.
"""

import argparse
import shlex
import statistics
import sys
import tempfile
from pathlib import Path

from noughts_bots.event_loop import run_loop
from noughts_bots.specs import parse_spec
from noughts_referee.clock import parse_time_control
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.local.launcher import Locking
from noughts_server.local.run import LocalPlan, LocalStop, play_locally

# It fills every other row first, so that the game is long.
_ENGINE = """
import sys, time
notes = open(sys.argv[1], "a")
order = [column + 15 * row for row in (0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13) for column in range(15)]
taken = set()
def move():
    began = time.monotonic()
    time.sleep(0.1)
    cell = next(cell for cell in order if cell not in taken)
    taken.add(cell)
    notes.write(f"{began} {time.monotonic()}\\n")
    notes.flush()
    print(f"{cell % 15},{cell // 15}", flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(" ")
    if word in ("START", "RESTART"):
        taken.clear()
        print("OK", flush=True)
    elif word == "TURN":
        x, y = map(int, rest.split(","))
        taken.add(x + 15 * y)
        move()
    elif word == "BEGIN":
        move()
    elif word == "END":
        break
"""


def _game(folder: Path) -> tuple[int, float, float]:
    """Moves, wall time and thinking time of a game, in seconds."""
    engine, notes = folder / "engine.py", folder / "notes"
    engine.write_text(_ENGINE)
    notes.write_text("")
    command = shlex.join([sys.executable, str(engine), str(notes)])
    plan = LocalPlan(
        specs=(parse_spec(f"one=gomocup:{command}"), parse_spec(f"two=gomocup:{command}")),
        settings=TournamentSettings(
            variant="gomoku",
            time=parse_time_control("5/move"),
            games_per_pair=1,
            concurrency=1,
            seed=1,
        ),
        locking=Locking.OFF,
    )
    run_loop(play_locally(plan, on_progress=lambda progress: None, stop=LocalStop()))
    thoughts = sorted(tuple(map(float, line.split())) for line in notes.read_text().splitlines())
    return len(thoughts), thoughts[-1][1] - thoughts[0][0], sum(end - begin for begin, end in thoughts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    over = []
    for _ in range(parser.parse_args().rounds):
        with tempfile.TemporaryDirectory() as folder:
            moves, wall, thinking = _game(Path(folder))
        over.append(wall / thinking - 1)
        print(f"{moves} moves: {wall:.3f} s, of which thinking {thinking:.3f} s: {over[-1]:.2%} over", flush=True)
    print(f"median {statistics.median(over):.2%}")


if __name__ == "__main__":
    main()
