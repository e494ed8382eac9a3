"""`threats` on a real server with a real clock. It searches a limited number of nodes, whatever the machine's speed."""

import json
import subprocess
import sys

from noughts_bots.reference.threats.bot import ThreatsBot
from noughts_server.testing import serving
from tests.support.root import ROOT

BENCHMARK = ROOT / "benchmarks" / "threats.py"


def test_threats_wins_timed_games_on_a_large_board() -> None:
    with serving() as server:
        result = server.match(ThreatsBot(nodes=300), "random", variant="mnk:15,15,5", games=4, time="60/move")
    assert (result.wins, result.draws, result.losses) == (4, 0, 0)
    assert {game.termination for game in result.games} == {"line"}


def test_threats_plays_the_same_untimed_games_at_any_concurrency() -> None:
    with serving() as server:
        results = [
            server.match(
                ThreatsBot(nodes=100), "fives", variant="mnk:9,9,5", games=12, concurrency=concurrency, seed=5
            ).games
            for concurrency in (1, 12)
        ]
    assert [game.moves for game in results[0]] == [game.moves for game in results[1]]


def test_the_benchmark_plays_its_openings_and_reports_results() -> None:
    command = [sys.executable, str(BENCHMARK), "--only", "tictactoe", "--small", "60/move", "--format", "json"]
    process = subprocess.run(
        [*command, "--spec", "threats:nodes=500"], capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stderr
    (report,) = json.loads(process.stdout)
    # The first stone is the opening. At most eight follow, of which `threats` places half.
    assert report["games"] == 18
    assert report["losses"] == report["losses_on_time"] == 0
    assert report["as_first"]["draws"] + report["as_first"]["wins"] == 9
    assert 18 * 2 < report["moves"] <= 18 * 4
    assert report["limit_ms"] == 60_000
