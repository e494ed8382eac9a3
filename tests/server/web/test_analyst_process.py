"""The process of a website's analyst: any player, few resources, restarts with pauses, and turns of the visitors."""

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest
from structlog.testing import capture_logs

from noughts_server.cli.options.website import read_analyst
from noughts_server.web import analyst as analyst_module
from noughts_server.web.analyst import Analyst, AnalystSettings, running_analyst
from noughts_server.web.documents import Document
from tests.support.loopback import wait_until
from tests.support.patience import PATIENCE

pytestmark = pytest.mark.processes
ENGINE = Path(__file__).parents[2] / "support" / "children" / "reporting_engine.py"
SPEC = f"gomocup:{shlex.quote(sys.executable)} {ENGINE} 35"
PROCESS = "noughts_server.local.analyst_process"


@asynccontextmanager
async def analysing(spec: str) -> AsyncIterator[Analyst]:
    async with running_analyst(AnalystSettings(name="engine", spec=spec, seconds=0.1)) as analyst:
        assert analyst is not None
        yield analyst


async def opinion_of(analyst: Analyst, variant: str, *moves: int, states: tuple[str, ...] = ("done",)) -> Document:
    """Ask about a position until its state is one of these, and return the opinion."""
    async with asyncio.timeout(PATIENCE):
        while True:
            opinion = analyst.opinion("ada", "tournaments/cup/games/1", variant, moves, start=True)
            if opinion["state"] in states:
                return opinion
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("spec", ["minimax", "threats:nodes=50", "py:{folder}/centre.py"])
async def test_players_of_every_kind_have_opinions(tmp_path: Path, spec: str) -> None:
    (tmp_path / "centre.py").write_text(
        "from noughts_bots import Bot, Move\n\n\nclass Centre(Bot):\n    def choose(self, position):\n"
        "        return Move(position.free[0], 0.5, pv=[position.free[0], position.free[0], 99])\n"
    )
    async with analysing(spec.format(folder=tmp_path)) as analyst:
        opinion = await opinion_of(analyst, "tictactoe", 0, 4)
    assert opinion["cell"] in (1, 2, 3, 5, 6, 7, 8)
    assert opinion["pv"][0] == opinion["cell"]
    if spec.startswith("py:"):
        assert (opinion["score"], opinion["pv"]) == (0.5, [1])


async def test_variant_that_the_player_refuses_has_a_reason() -> None:
    async with analysing(SPEC) as analyst:
        opinion = await opinion_of(analyst, "connect4", 38, states=("unavailable",))
        assert opinion["reason"] == "it does not play connect4"
        assert (await opinion_of(analyst, "gomoku", 112))["score"] == 35


DIES = """
import os
import sys

sys.path.insert(0, {folder!r})
import reporting_engine

move = reporting_engine.Engine.move


def die(engine):
    if len(engine.free) == 225 - 3:
        os._exit(3)
    move(engine)


reporting_engine.Engine.move = die
reporting_engine.SCORES[:] = ["35"]
reporting_engine.main()
"""


async def test_engine_that_dies_is_restarted_with_growing_pauses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyst_module, "_FIRST_PAUSE", 0.05)
    program = tmp_path / "dies.py"
    program.write_text(DIES.format(folder=str(ENGINE.parent)) + f"# {ENGINE}\n")
    spec = f"gomocup:{shlex.quote(sys.executable)} {program} {ENGINE}"
    async with analysing(spec) as analyst:
        with capture_logs() as logs:
            reason = (await opinion_of(analyst, "gomoku", 0, 1, 2, states=("unavailable",)))["reason"]
            assert reason == "it has failed"
            while reason != "it failed twice in this position":
                reason = (await opinion_of(analyst, "gomoku", 0, 1, 2, states=("unavailable",)))["reason"]
                await asyncio.sleep(0.02)
            assert (await opinion_of(analyst, "gomoku", 0, 1))["score"] == 35
    failures = [log["reason"] for log in logs if log["event"] == "analyst_failed"]
    assert len(failures) == 2
    assert all("exit code 3" in failure for failure in failures)


async def test_engine_that_cannot_start_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyst_module, "_FIRST_PAUSE", 0.05)
    async with analysing("gomocup:/usr/bin/false") as analyst:
        opinion = await opinion_of(analyst, "gomoku", 0, states=("unavailable",))
        assert opinion["reason"] == "it has failed"


async def test_log_has_the_output_of_a_process_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyst_module, "_PROCESS", "missing_module")
    async with analysing("threats") as analyst:
        with capture_logs() as logs:
            await opinion_of(analyst, "gomoku", 0, states=("unavailable",))
    failure = next(log for log in logs if log["event"] == "analyst_failed")
    assert "No module named missing_module" in failure["output"]


@pytest.mark.parametrize(
    "spec, name",
    [
        ("threats:nodes=50", "threats:nodes=50"),
        (f"gomocup:{shlex.quote(sys.executable)} {ENGINE}", f"gomocup:{Path(sys.executable).name}_{ENGINE.name}"),
        (f"Rapfi=gomocup:{shlex.quote(sys.executable)} {ENGINE}", "Rapfi"),
    ],
)
def test_name_of_an_analyst_has_no_folders(spec: str, name: str) -> None:
    settings = read_analyst(spec, 1)
    assert settings is not None
    assert settings.name == name


def processes() -> list[psutil.Process]:
    """Return the process of the analyst and all below it."""
    found: list[psutil.Process] = []
    for child in psutil.Process().children():
        try:
            if PROCESS in child.cmdline():
                found += [child, *child.children(recursive=True)]
        except psutil.Error:
            continue
    return found


def nice_of_session(process: psutil.Process) -> int | None:
    """Return the nice value of a process's session; None if the kernel does not share processors by session."""
    try:
        if Path("/proc/sys/kernel/sched_autogroup_enabled").read_text().strip() != "1":
            return None
        return int(Path(f"/proc/{process.pid}/autogroup").read_text().split()[-1])
    except FileNotFoundError:
        return None


async def test_one_process_of_the_lowest_priority_ends_when_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    async with analysing(SPEC) as analyst:
        await opinion_of(analyst, "gomoku", 0)
        running = processes()
        assert sum(PROCESS in process.cmdline() for process in running) == 1
        assert len(running) > 1
        for process in running:
            assert process.nice() == 19
            assert len(process.cpu_affinity() or []) == 1
        computing = [process for process in running if {PROCESS, str(ENGINE)} & set(process.cmdline())]
        assert len(computing) == 2
        assert set(map(nice_of_session, computing)) <= {None, 10}
        monkeypatch.setattr(analyst_module, "_IDLE_SECONDS", 0.05)
        await opinion_of(analyst, "gomoku", 0, 1)
        await wait_until(lambda: not processes() and not any(process.is_running() for process in running))


async def test_killed_process_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyst_module, "_FIRST_PAUSE", 0.05)
    async with analysing(SPEC) as analyst:
        await opinion_of(analyst, "gomoku", 0)
        running = processes()
        running[0].kill()
        assert (await opinion_of(analyst, "gomoku", 0, 1))["score"] == 35
        await wait_until(lambda: not any(process.is_running() for process in running))


async def test_visitors_have_few_places_and_one_position_for_each_game() -> None:
    analyst = Analyst(AnalystSettings(name="engine", spec=SPEC))  # it does not run, so that positions wait
    for number in range(10):
        assert analyst.opinion("ada", f"games/{number}", "gomoku", (number,), start=True)["state"] == "pending"
    for moves in ((1,), (1, 2)):
        assert analyst.opinion("bob", "games/1", "gomoku", moves, start=True)["state"] == "pending"
    waiting = [(watched.visitor, request.position.moves) for watched, request in analyst._waiting.items()]
    assert waiting == [("ada", (6,)), ("ada", (7,)), ("ada", (8,)), ("ada", (9,)), ("bob", (1, 2))]
    for number in range(60):
        analyst.opinion(f"visitor {number}", "games/1", "gomoku", (number,), start=True)
    assert analyst.opinion("cleo", "games/1", "gomoku", (3,), start=True)["state"] == "busy"
