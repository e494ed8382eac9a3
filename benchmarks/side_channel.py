"""Measure what timing reveals about another bot's thinking: `python -m benchmarks.side_channel`.

A victim plays one match and thinks either for 30 ms of processor time or not at all. A spy plays another match on the
same server and tries to detect this, from the time until its next question and from the speed of a loop in its own
code. Prints for both the probability that a time during thinking exceeds one without thinking (0.5: the spy learns
nothing, 1.0: everything).
"""

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import AsyncExitStack
from itertools import pairwise
from pathlib import Path

from scipy.stats import mannwhitneyu

from noughts_server.cli.options.logs import LogLevel, configure_logs
from tests.support.league_server import league_server_at

_BOTS = '''
import time
from noughts_bots import Bot

BUSY_SECONDS = 0.03


class Victim(Bot):
    """Thinks in every second phase of 0.3 s, and notes when."""

    def choose(self, position):
        began = time.monotonic()
        busy = int(began / 0.3) % 2
        while busy and time.monotonic() < began + BUSY_SECONDS:
            pass
        with open("victim", "a") as notes:
            notes.write(f"{began} {time.monotonic()} {busy}\\n")
        return position.free[0]


class Spy(Bot):
    """Notes when it was asked, when it answered, and how long a loop took."""

    def choose(self, position):
        asked = time.monotonic()
        for _ in range(20_000):
            pass
        looped = time.monotonic()
        with open("spy", "a") as notes:
            notes.write(f"{asked} {looped} {looped - asked}\\n")
        return position.free[0]


class Quick(Bot):
    def choose(self, position):
        return position.free[0]
'''
_PLAYERS = {"victim": "Victim", "spy": "Spy", "first": "Quick", "second": "Quick"}


async def play_matches(folder: Path, seconds: float) -> None:
    """Let the bots play and take notes in the folder."""
    (folder / "bots.py").write_text(_BOTS)
    async with league_server_at(folder) as league_server, AsyncExitStack() as stack:
        env = {**os.environ, "NOUGHTS_SERVER": league_server.address, "NOUGHTS_TOKEN": league_server.token}
        for bot, kind in _PLAYERS.items():
            line = ["-m", "noughts_server.cli", "bot", "run", f"py:./bots.py:{kind}", "--name", bot, "--no-lock"]
            process = await asyncio.create_subprocess_exec(
                sys.executable, *line, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            stack.push_async_callback(process.wait)
            stack.callback(process.kill)
            await league_server.until_online(bot)
        for one, other in (("victim", "first"), ("spy", "second")):
            await league_server.start(one, one, other, variant="mnk:9,9,9", games_per_pair=100_000, concurrency=1)
        await asyncio.sleep(seconds)


def report(folder: Path) -> None:
    """Compare the spy's times while the victim was thinking with its other times."""
    busy = [(begin, end) for begin, end, thinks in read(folder / "victim") if thinks]
    # Times of the spy, by whether the victim was thinking during a part of the time.
    question_times: dict[bool, list[float]] = {True: [], False: []}
    loop_times: dict[bool, list[float]] = {True: [], False: []}
    for (_, answered, _), (question, after, loop) in pairwise(read(folder / "spy")):
        question_times[any(begin < question and answered < end for begin, end in busy)].append(question - answered)
        loop_times[any(begin < after and question < end for begin, end in busy)].append(loop)
    questions = len(question_times[True]) + len(question_times[False])
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, {questions:,} questions")
    for name, times in (("time until the next question", question_times), ("time of the spy's own loop", loop_times)):
        during, without = times[True], times[False]
        probability = mannwhitneyu(during, without).statistic / len(during) / len(without)
        medians = [statistics.median_high(seconds) * 1e3 for seconds in (during, without)]
        print(
            f"{name}: probability {probability:.2f}; medians {' and '.join(f'{median:.2f} ms' for median in medians)}"
        )


def read(path: Path) -> list[tuple[float, ...]]:
    """Return the complete lines of notes as numbers."""
    return [tuple(map(float, line.split())) for line in path.read_text().split("\n")[:-1]]


def main() -> None:
    """Measure for some seconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20.0)
    options = parser.parse_args()
    configure_logs(LogLevel.WARNING)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(play_matches(Path(folder), options.seconds))
        report(Path(folder))


if __name__ == "__main__":
    main()
