"""The processor cores on which the engines of a game run, checked with real processes."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from noughts_bots.reference.specs import parse_spec
from noughts_referee.children.watch import processor_seconds
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.engines.game_cores import GameCores
from noughts_server.local.plan import LocalPlan

CORES = sorted(os.sched_getaffinity(0))
_ENGINE = "import subprocess, sys; subprocess.Popen(['sleep', '60']); print(flush=True); sys.stdin.read()"


@pytest.fixture
def engines() -> Iterator[list[int]]:
    """The process ids of four engines, each of which has started another process."""
    with ExitStack() as stack:
        running = []
        for _ in range(4):
            command = [sys.executable, "-c", _ENGINE]
            engine = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
            )
            stack.callback(os.killpg, engine.pid, 9)
            assert engine.stdout is not None
            engine.stdout.readline()
            running.append(engine.pid)
        yield running


def cores_of(process: int) -> list[set[int]]:
    """Return the allowed cores of a process and of each of its children."""
    with open(f"/proc/{process}/task/{process}/children") as file:
        family = [process, *map(int, file.read().split())]
    return list(map(os.sched_getaffinity, family))


def test_both_engines_of_a_game_and_their_processes_share_a_core(engines: list[int]) -> None:
    cores = GameCores(2)
    for process in engines[:2]:
        cores.begin(1, process)
    for process in engines[2:]:
        cores.begin(2, process)
    for process in engines[:2]:
        assert cores_of(process) == [{CORES[0]}] * 2
    for process in engines[2:]:
        assert cores_of(process) == [{CORES[1 % len(CORES)]}] * 2


@pytest.mark.skipif(len(CORES) < 2, reason="on one core there is nothing to choose")
def test_an_engine_keeps_its_core_if_it_can_and_follows_its_opponent(engines: list[int]) -> None:
    cores = GameCores(2)
    cores.begin(1, engines[0])
    cores.begin(2, engines[1])
    cores.end(1, [])
    # The engine returns to its usual core, although the other core comes first.
    cores.end(2, [])
    cores.begin(3, engines[1])
    cores.begin(3, engines[0])
    assert cores_of(engines[0]) == cores_of(engines[1]) == [{CORES[1]}] * 2


def test_the_loop_shares_the_core_of_quick_engines_alone(engines: list[int]) -> None:
    cores_of_loop = []

    def play() -> None:
        cores = GameCores(1)
        for game, took_us in enumerate((100, 5_000, 100)):
            cores.begin(game, engines[0])
            cores.end(game, [took_us] * 10)
            cores_of_loop.append(os.sched_getaffinity(0))
        cores.close()
        cores_of_loop.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=play)
    thread.start()
    thread.join()
    assert cores_of_loop == [{CORES[0]}, set(CORES), {CORES[0]}, set(CORES)]


def test_several_games_of_quick_engines_are_placed_by_the_scheduler(engines: list[int]) -> None:
    cores = GameCores(2)
    for game, (took_us, expected) in enumerate(((100, set(CORES)), (5_000, {CORES[0]}))):
        cores.begin(2 * game, engines[0])
        cores.end(2 * game, [took_us] * 10)
        cores.begin(2 * game + 1, engines[0])
        assert cores_of(engines[0]) == [expected] * 2
        cores.end(2 * game + 1, [took_us] * 10)
    assert os.sched_getaffinity(0) == set(CORES)


def test_games_of_an_engine_that_ponders_are_placed_by_the_scheduler(engines: list[int]) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as pondering:
        cores = GameCores(1)
        for game, used, asked in ((1, 0.1, 60_000_000), (2, 1.0, 100_000)):
            for process in (engines[0], pondering.pid):
                cores.begin(game, process)
                cores.record_first_question(process)
            assert os.sched_getaffinity(pondering.pid) == {CORES[0]}
            until = processor_seconds(pondering.pid) + used
            while processor_seconds(pondering.pid) < until:
                time.sleep(0.01)
            cores.record_thoughts(pondering.pid, [asked])
            cores.record_thoughts(engines[0], [asked])
            cores.end(game, [asked, asked])
        cores.begin(3, engines[0])
        cores.begin(3, pondering.pid)
        assert os.sched_getaffinity(pondering.pid) == os.sched_getaffinity(engines[0]) == set(CORES)
        pondering.kill()


def test_an_engine_that_prepares_itself_does_not_count_as_pondering(engines: list[int]) -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as preparing:
        cores = GameCores(1)
        cores.begin(1, preparing.pid)
        until = processor_seconds(preparing.pid) + 1
        while processor_seconds(preparing.pid) < until:
            time.sleep(0.01)
        cores.record_first_question(preparing.pid)
        preparing.kill()
        cores.record_thoughts(preparing.pid, [100_000])
        cores.end(1, [100_000])
        cores.begin(2, engines[0])
        assert os.sched_getaffinity(engines[0]) == {CORES[0]}


def test_an_engine_that_has_ended_is_ignored(engines: list[int]) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    GameCores(1).begin(1, ended.pid)


@pytest.mark.parametrize(
    "specs, games, affinity, at_once",
    [
        (("gomocup:one", "gomocup:two"), 1, None, 1),
        (("gomocup:one", "gomocup:two"), 64, None, len(CORES)),
        (("gomocup:one", "random"), 1, None, 1),
        (("gomocup:one", "gomocup:two", "random"), 64, None, 0),
        (("gomocup{threads=1}:one", "gomocup:two"), 1, None, 1),
        (("gomocup{threads=2}:one", "gomocup:two"), 1, None, 0),
        (("gomocup:one", "gomocup:two"), 1, True, 0),
        (("gomocup:one", "gomocup:two"), 1, False, 0),
        (("random", "first-free"), 1, None, 0),
    ],
)
def test_games_share_cores_only_if_that_helps(
    specs: tuple[str, ...], games: int, affinity: bool | None, at_once: int
) -> None:
    settings = TournamentSettings("mnk:9,9,5", games_per_pair=2, concurrency=games)
    plan = LocalPlan(tuple(map(parse_spec, specs)), settings, affinity=affinity)
    assert plan.cores_of_games == at_once
    assert ("share a core" in plan.engine_note) == bool(at_once)
