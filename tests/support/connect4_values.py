"""Writes connect4_values.txt: 1,000 positions of connect4 with their exact values, which `connect4.c` computes.

    python tests/support/connect4_values.py

Each line has the moves as columns from 1, the value for the side to move (1 win, 0 draw, -1 loss), and the half-moves
until the end (0 for a draw). There are fewer early positions, because our solver needs more time for them.
"""

import random
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from noughts_referee.rules import Position, parse_variant

FILE = Path(__file__).with_name("connect4_values.txt")
_STONES = [14] * 15 + [15] * 15 + [16] * 20 + [17] * 25 + [18] * 25 + [19] * 50 + [20 + n % 22 for n in range(850)]


def _moves(stones: int, rng: random.Random) -> str:
    """Return this number of random moves after which the game continues; only a side without other moves wins."""
    variant = parse_variant("connect4")
    while True:
        position = Position(variant)
        while position.outcome() is None and position.ply < stones:
            moves_without_win = [
                cell for cell in position.free if not variant.completes(position.own | 1 << cell, cell)
            ]
            position.play(rng.choice(moves_without_win or position.free))
        if position.outcome() is None:
            return "".join(str(cell % variant.columns + 1) for cell in position.moves)


def main() -> None:
    rng = random.Random(35)
    lines = [_moves(stones, rng) for stones in _STONES]
    with TemporaryDirectory() as folder:
        program = Path(folder, "connect4")
        subprocess.run(["cc", "-O3", "-o", program, FILE.with_name("connect4.c")], check=True)
        solved = subprocess.run(program, input="\n".join(lines) + "\n", text=True, capture_output=True, check=True)
    values = solved.stdout.splitlines()
    FILE.write_text("".join(f"{moves} {value}\n" for moves, value in zip(lines, values, strict=True)), encoding="ascii")


if __name__ == "__main__":
    main()
