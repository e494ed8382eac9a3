"""A server that was asked to stop, as its users and its log show it."""

import json
import re
import signal
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from tests.support.patience import PATIENCE
from tests.support.processes import (
    environment,
    eventually,
    exit_code_and_errors,
    first_line,
    json_of,
    run_noughts,
    started,
)


def test_draining_server_is_not_serving_until_its_running_games_are_stored(tmp_path: Path) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path))
    with ExitStack() as stack:
        server = stack.enter_context(
            started(
                ["serve", "--no-web", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--format", "json"], data
            )
        )
        ready = json.loads(first_line(server))
        address = ready["grpc"]
        token = json_of("token create --owner ada", data)["token"]
        env = {**data, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": token}
        for name in ("left", "right"):
            bot = stack.enter_context(started(["bot", "run", "random", "--name", name], env))
            first_line(bot)
        json_of("tournament create long --games 1000000 --time 600+0", env)
        for name in ("left", "right"):
            json_of(f"tournament join long --bot {name}", env)
        json_of("tournament start long", env)
        eventually(lambda: json_of("status", env)["games"], lambda games: games > 0)
        bot.send_signal(signal.SIGSTOP)  # so that one running game does not end
        try:
            # The other games have ended once no ply is played between two calls.
            eventually(lambda: [json_of("status", env)["plies"] for _ in range(2)], lambda plies: plies[0] == plies[1])
            server.send_signal(signal.SIGTERM)
            eventually(lambda: json_of("status", env)["draining"], bool)
            refusal = run_noughts(["health"], env, code=1)
            assert "not serving" in refusal.stderr
            # A slow disk can delay the storing of games that ended before.
            eventually(lambda: _unstored_games(ready["metrics"]), lambda games: games == 0)
            before = json_of("status", env)
            assert before["games_in_flight"] == 1
        finally:
            bot.send_signal(signal.SIGCONT)
        code, errors = exit_code_and_errors(server)
        assert code == 0, errors
    with started(["serve", "--no-web", "--listen", "127.0.0.1:0", "--format", "json"], data) as server:
        env["NOUGHTS_SERVER"] = json.loads(first_line(server))["grpc"]
        assert json_of("tournament show long", env)["games"] == before["games"] + 1


def test_stopping_server_does_not_wait_for_disconnected_bots(tmp_path: Path) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path))
    serve = ["serve", "--no-web", "--listen", "127.0.0.1:0", "--reconnect-timeout", "1h", "--format", "json"]
    with ExitStack() as stack:
        server = stack.enter_context(started(serve, data))
        address = json.loads(first_line(server))["grpc"]
        env = {**data, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": json_of("token create --owner ada", data)["token"]}
        bots = [stack.enter_context(started(["bot", "run", "random", "--name", name], env)) for name in ("amy", "ben")]
        for bot in bots:
            first_line(bot)
        json_of("tournament create cup --games 1000000", env)
        for name in ("amy", "ben"):
            json_of(f"tournament join cup --bot {name}", env)
        json_of("tournament start cup", env)
        eventually(lambda: json_of("status", env)["games"], lambda games: games > 0)
        for bot in bots:
            bot.kill()
        eventually(
            lambda: json_of("status", env), lambda status: not status["bots_online"] and status["games_in_flight"]
        )
        server.send_signal(signal.SIGTERM)
        code, log = exit_code_and_errors(server)
    assert code == 0, log
    assert "disconnected_games_aborted" in log
    assert "termination=disconnected" not in log


def _unstored_games(metrics: str) -> float:
    """Return the server's number of finished games that are not stored yet."""
    with urllib.request.urlopen(f"http://{metrics}/metrics", timeout=PATIENCE) as answer:
        page = answer.read().decode()
    return float(re.findall(r"(?m)^noughts_recorder_backlog (\S+)$", page)[0])


def test_log_names_games_and_bots_and_no_secret(tmp_path: Path) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path))
    author = tmp_path / "author.py"
    author.write_text(
        "from noughts_bots import Bot, run\n"
        "class Off(Bot):\n"
        "    def choose(self, position):\n"
        "        return 99\n"
        "run(Off(), name='off')\n"
    )
    serve = [
        "serve",
        "--no-web",
        "--listen",
        "127.0.0.1:0",
        "--format",
        "json",
        "--log-format",
        "json",
        "--log-level",
        "debug",
    ]
    with ExitStack() as stack:
        server = stack.enter_context(started(serve, data))
        address = json.loads(first_line(server))["grpc"]
        token = json_of("token create --owner ada", data)["token"]
        env = {**data, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": token}
        bot = stack.enter_context(started(["bot", "run", "random", "--name", "fair"], env))
        first_line(bot)
        off = stack.enter_context(started([str(author)], env, program=[sys.executable]))
        eventually(lambda: json_of("status", env)["bots_online"], lambda bots: bots == 2)
        json_of("tournament create cup --games 2", env)
        for name in ("fair", "off"):
            json_of(f"tournament join cup --bot {name}", env)
        json_of("tournament start cup", env)
        eventually(lambda: json_of("tournament show cup", env)["state"], lambda state: state == "finished")
        off.kill()
        run_noughts(["tournament", "create", "other"], {**env, "NOUGHTS_TOKEN": "nou_not-a-token"}, code=1)
        server.terminate()
        code, log = exit_code_and_errors(server)
    assert code == 0
    assert token not in log
    assert "nou_" not in log
    lines = log.splitlines()
    assert len([line for line in lines if "database_created" in line]) == 1
    faults = [line for line in lines if "illegal_move" in line]
    assert len(faults) == 2
    assert all("bots/off/versions/1" in fault for fault in faults)
    assert {number for number in (1, 2) for fault in faults if f"tournaments/cup/games/{number}" in fault} == {1, 2}
    for event in ("bot_online", "bot_offline", "tournament_started", "tournament_played"):
        assert any(event in line for line in lines), event
    offline = [json.loads(line) for line in lines if "bot_offline" in line]
    reasons = {event["reason"] for event in offline if event["bot"] == "bots/off/versions/1"}
    # Which of the two is seen first depends on when the operating system closes the connection.
    assert reasons <= {"stream_ended", "connection_lost"}, offline
    assert reasons
    plies = [json.loads(fault)["ply"] for fault in faults]
    # The faulty bot moves first in one game (ply 0) and second in the other (ply 1).
    assert sorted(plies) == [0, 1]
