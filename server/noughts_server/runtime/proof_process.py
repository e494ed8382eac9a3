"""A process that proves the values of positions, for adjudication: reads them as lines of JSON, prints the values.

It has the lowest priority, so that proofs do not delay games that do not wait for them.
"""

import json
import sys
from collections.abc import Sequence
from functools import lru_cache

from noughts_bots.reference.analysis import Analyst
from noughts_proto.interpreter import environment, python
from noughts_referee.rules import Position, Variant, parse_variant
from noughts_server.runtime.judging_process import take_lowest_priority

COMMAND = python("-m", "noughts_server.runtime.proof_process")
ENVIRONMENT = environment()
EFFORT = 4_096
"""The limit of the exact search of a position (see `Analyst`): about 0.1 s in Python with `_LINES`."""
_LINES = 128
"""With more lines, each position of the search takes longer, so it gets fewer. A 30x30 board has about 2,900."""
NODES = 400
"""The positions that `threats` visits for a position, if the exact search proves nothing: about 20 ms on 15x15."""
_MOST_VARIANTS = 8
"""Limit of the variants whose solvers stay in memory."""


def question(variant: str, moves: Sequence[int]) -> bytes:
    """Return what the process reads for the position after these moves."""
    return json.dumps([variant, moves]).encode() + b"\n"


def answer(line: bytes) -> int | None:
    """Return the value for the side to move: 1 win, 0 draw, -1 loss, None if it is not proven. Raises ValueError."""
    value = json.loads(line)
    if value not in (1, 0, -1, None):
        raise ValueError(f"got the value {value!r}")
    return None if value is None else int(value)


def proven_value(variant: Variant, moves: Sequence[int]) -> int | None:
    """Return the value of the position after these moves for the side to move; None if it is not proven."""
    return _analyst(variant).proven_value(Position.after(variant, moves), effort(variant))


def effort(variant: Variant) -> int:
    """Return the positions that the exact search of a position visits at most."""
    return EFFORT * _LINES // max(len(variant.lines), _LINES)


@lru_cache(_MOST_VARIANTS)
def _analyst(variant: Variant) -> Analyst:
    return Analyst(variant, effort=EFFORT, nodes=NODES)


def main() -> None:
    take_lowest_priority()
    for line in sys.stdin.buffer:
        name, moves = json.loads(line)
        sys.stdout.write(json.dumps(proven_value(parse_variant(name), moves)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
