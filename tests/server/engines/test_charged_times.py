"""A player's clock runs until its answer arrives, however late the server's event loop reads it."""

import asyncio
import shlex
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median

import pytest

from noughts_referee.children.child_settings import ChildSettings
from noughts_referee.children.stamped_pipes import TICK_US
from noughts_server.launching.launcher import SandboxMode
from noughts_server.runtime.endless_work import running
from tests.support.children.field import PROGRAMS, Field
from tests.support.loopback import wait_until

TIMES = ChildSettings(start=20.0, silence=20.0, stop=0.2)
THINKING_US = 100_000
STALL_SECONDS = 0.5
SLOW_LINES = """
import sys, time
habits = dict(word.split("=") for word in sys.argv[1:])
for line in sys.stdin:
    if "asked" in habits:
        open(habits["asked"], "w").close()
    time.sleep(float(habits["think"]))
    print(next(cell for cell in range(25) if str(cell) not in line.split()[2:]), flush=True)
"""
SLOW_BOT = """
import time
from noughts_bots.sdk.bot import Bot
class Slow(Bot):
    variants = ("mnk",)
    def choose(self, position):
        time.sleep(0.1)
        return position.free[0]
"""


@asynccontextmanager
async def stalled_loop(seconds: float, times: int, begins: Callable[[], object]) -> AsyncIterator[None]:
    """Block the event loop `times` times for `seconds`, once `begins` is true."""

    async def stop() -> None:
        await wait_until(begins)
        for _ in range(times):
            await asyncio.sleep(0.05)
            time.sleep(seconds)  # noqa: ASYNC251  # this is the stall
        await asyncio.Event().wait()

    async with running(stop()):
        yield


def specs(folder: Path) -> dict[str, str]:
    """Return a player of each kind that sleeps 0.1 s before each move."""
    (folder / "slow.py").write_text(SLOW_BOT)
    (folder / "lines.py").write_text(SLOW_LINES)
    python = shlex.quote(sys.executable)
    return {
        "gomocup": f"slow=gomocup:{python} {PROGRAMS}/odd_engine.py think=0.1",
        "gtp": f"slow=gtp{{variants=mnk}}:{python} {PROGRAMS}/gtp_engine.py slow",
        "lines": f"slow=lines{{variants=mnk}}:{python} {folder}/lines.py think=0.1",
        "py": f"slow=py:{folder}/slow.py:Slow",
    }


@pytest.mark.parametrize("kind", ["gomocup", "gtp", "lines", "py"])
async def test_a_stall_neither_shortens_nor_lengthens_thinking_times(tmp_path: Path, kind: str) -> None:
    field = Field(tmp_path, SandboxMode.OFF)
    async with stalled_loop(STALL_SECONDS, 100, lambda: field.sessions):
        await field.play(specs(tmp_path)[kind], "first-free", games=1, variant="mnk:5,5,5", time="30/move",
                         children=TIMES, keep_times=True)  # fmt: skip
    (game,) = field.games
    times_us = game.times_us[game.second == "slow" :: 2]
    assert len(times_us) >= 5
    assert min(times_us) >= THINKING_US - TICK_US
    assert median(times_us) < STALL_SECONDS * 1_000_000 / 2


@pytest.mark.parametrize("kind", ["gomocup", "lines"])
@pytest.mark.parametrize(
    "thinking, limit, stall, ending",
    [
        pytest.param(0.2, 4, 6.0, "line", id="arrived in time, read late"),
        pytest.param(2.5, 1, 3.0, "timeout", id="arrived late during the stall"),
        pytest.param(2.5, 1, 2.0, "timeout", id="arrived late after the stall"),
    ],
)
async def test_the_arrival_of_an_answer_decides_whether_it_is_late(
    tmp_path: Path, kind: str, thinking: float, limit: int, stall: float, ending: str
) -> None:
    field, asked = Field(tmp_path, SandboxMode.OFF), tmp_path / "asked"
    (tmp_path / "lines.py").write_text(SLOW_LINES)
    engine = f"think={thinking} asked={asked}"
    python = shlex.quote(sys.executable)
    slow = {
        "gomocup": f"slow=gomocup:{python} {PROGRAMS}/odd_engine.py {engine}",
        "lines": f"slow=lines{{variants=mnk}}:{python} {tmp_path}/lines.py {engine}",
    }[kind]
    async with stalled_loop(stall, 1, asked.exists):
        await field.play(slow, "first-free", games=1, variant="mnk:5,5,5", time=f"{limit}/move",
                         children=TIMES, keep_times=True)  # fmt: skip
    (game,) = field.games
    times_us = game.times_us[game.second == "slow" :: 2]
    assert game.termination == ending
    assert times_us[0] >= min(thinking, stall) * 1_000_000 - TICK_US
    assert len(times_us) == 1 or ending == "line"


async def test_ten_thousand_messages_cost_an_engine_little_of_its_clock(tmp_path: Path) -> None:
    field = Field(tmp_path, SandboxMode.OFF)
    engine = shlex.join([sys.executable, str(PROGRAMS / "odd_engine.py"), "chatter=10000"])
    processor_seconds = time.process_time()
    await field.play(f"chatty=gomocup:{engine}", "first-free", games=1, variant="mnk:5,5,5", time="30/move",
                     children=TIMES, keep_times=True)  # fmt: skip
    processor_seconds = time.process_time() - processor_seconds
    (game,) = field.games
    moves = len(game.moves[game.second == "chatty" :: 2])
    assert moves >= 5
    assert processor_seconds / moves < 0.1  # 17 us for each of 10,000 messages would be 0.17 s a move
