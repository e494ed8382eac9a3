"""Whether an engine keeps to the rule that it is told: positions in which a move wins by the freest rule alone.

The opponent has a four that must be stopped. Whoever plays the other move instead takes it for a win.
"""

from typing import NamedTuple

from noughts_bots.bot import Resign
from noughts_bots.errors import BotError
from noughts_bots.specs import BotSpec
from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.launcher import Launcher
from noughts_referee.rules import Position, parse_variant
from noughts_server.bot_check.child_session import child_session

KEEPS, IGNORES, UNCLEAR = "keeps it", "ignores it", "cannot be told"


class _Probe(NamedTuple):
    """X is to move."""

    first: str
    """X's stones, as cells that people write."""
    second: str
    tempting: str
    """It makes more than five in a row, or five that are shut at both ends."""
    stop: str


_OVERLINE = _Probe("d8 e8 f8 h8 i8 c4", "d4 e4 f4 g4 a15 o15", "g8", "h4")
_SHUT_FIVE = _Probe("d8 e8 f8 h8 c4 m12", "c8 i8 d4 e4 f4 g4", "g8", "h4")
PROBES = {"gomoku:exact": _OVERLINE, "renju": _OVERLINE, "caro": _SHUT_FIVE, "caro:exact": _SHUT_FIVE}


async def probe_rules(spec: BotSpec, launcher: Launcher, times: ChildSettings, move_seconds: float) -> dict[str, str]:
    """What an engine does of each variant whose rule it has to be told: KEEPS, IGNORES, UNCLEAR, or what it says."""
    found = {}
    for name, probe in PROBES.items():
        variant = parse_variant(name)
        first, second = ([_cell(each, variant.columns) for each in stones.split()] for stones in probe[:2])
        moves = [cell for pair in zip(first, second, strict=True) for cell in pair]
        async with child_session(spec, launcher, times, move_seconds=move_seconds) as session:
            try:
                await session.greet()
                cell = (await session.answer(Position.after(variant, moves))).cell
            except Resign:
                found[name] = UNCLEAR
            except BotError as fault:
                # To play what renju forbids is to ignore it.
                found[name] = IGNORES if "forbidden" in fault.got else f"{UNCLEAR} ({fault.got})"
            else:
                played = {_cell(probe.tempting, variant.columns): IGNORES, _cell(probe.stop, variant.columns): KEEPS}
                found[name] = played.get(cell, UNCLEAR)
    return found


def _cell(written: str, columns: int) -> int:
    """The cell at `h8` of a board with 15 rows, which are counted from below."""
    return (15 - int(written[1:])) * columns + ord(written[0]) - ord("a")
