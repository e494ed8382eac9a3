"""Programs, libraries and engines as players: in local runs, in `noughts bot check`, and at a server."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.children.field import PLAYER, PROGRAMS
from tests.support.hosting import compile_library
from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM, environment, run_here


class Cli:
    """`noughts` with its data in a folder of the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = environment(XDG_DATA_HOME=str(folder), COLUMNS="200")

    def player(self, habit: str) -> str:
        """Return the spec of a program with this habit; see tests/support/children/habits.py."""
        return "exec:" + shlex.join([sys.executable, str(PLAYER), str(self.folder / "pids"), habit])

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*PROGRAM, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """Run a command in this process, and return its stdout and stderr."""
        result = run_here(arguments, self.environment, code=code)
        return result.stdout, result.stderr

    def json(self, *arguments: str) -> Any:
        return json.loads(self.run(*arguments, "--format", "json")[0])


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


CRASHES_AT_PLY_2 = """
#include "noughts_bot.h"
#include <stdlib.h>
static int32_t play(void *bot, const noughts_turn *turn) {
    uint32_t free_cells[900];
    (void)bot;
    noughts_free(turn, free_cells);
    if (turn->ply >= 2) abort();
    return (int32_t)free_cells[0];
}
static const noughts_bot_api api = {sizeof(noughts_bot_api), NOUGHTS_BOT_VERSION, play, 0, 0, "crashes", 0};
NOUGHTS_EXPORT const noughts_bot_api *noughts_bot(void) { return &api; }
"""


def test_crash_of_a_library_is_reported_with_the_moves_before_it(cli: Cli) -> None:
    spec = f"dll:{compile_library(CRASHES_AT_PLY_2, cli.folder)}"
    output, _ = cli.run("bot", "check", spec, code=1)
    assert re.search(r"was ended by signal 6 \(SIGABRT\), expected a move after \[0, [1-8]\]\.", output)
    _, errors = cli.run("match", f"A={spec}", "first-free", "--games", "2")
    assert "First in game 1 at ply 2 (tictactoe, moving first), after [0, 1]." in errors


def test_the_document_of_a_match_has_the_faults(cli: Cli) -> None:
    document = cli.json("match", f"Mine={cli.player('crash')}", "first-free", "--games", "4")
    assert document["terminations"] == {"crashed": 4}
    assert document["faults"] == [
        {
            "bot": "Mine",
            "reason": "ended with exit code 3",
            "times": 4,
            "games": 4,
            "benched": False,
            "first": {
                "game": 1,
                "ply": 2,
                "variant": "tictactoe",
                "side": "first",
                "reason": "ended with exit code 3",
            },
            "advice": f"Try it alone: noughts bot check '{cli.player('crash')}'",
            "stderr": "what a pity\n",
        }
    ]
    assert cli.json("match", cli.player("honest"), "first-free")["faults"] == []


def test_text_output_says_why_a_bot_failed_and_what_it_wrote(cli: Cli) -> None:
    output, errors = cli.run("tournament", "run", f"Mine={cli.player('crash')}", "first-free", "random")
    assert "crashed" in output
    warning, place, advice, stderr_line = errors.splitlines()
    assert warning == "Warning: Mine: it ended with exit code 3 (4 times); 4 games lost."
    assert place == "  First in game 2 at ply 2 (tictactoe, moving first), after [0, 1]."
    assert advice.startswith("  Try it alone: noughts bot check 'exec:")
    assert stderr_line == "  | what a pity"


def test_start_timeout_limits_the_start_of_a_program(cli: Cli) -> None:
    spec = f"Slow={cli.player('slow start')}"
    document = json.loads(cli.run("match", spec, "first-free", "--start-timeout", "0.3", "--format", "json", code=1)[0])
    (fault,) = document["faults"]
    assert (fault["reason"], fault["benched"]) == ("did not say Hello within 0.3 s (see --start-timeout)", True)
    assert cli.json("match", spec, "first-free", "--start-timeout", "20")["terminations"] == {"line": 2}


@pytest.mark.parametrize(
    "spec, complaint",
    [
        ("exec:no-such-program x", "got program 'no-such-program', expected one that can be run"),
        ("exec:python 'x", "got a command with no closing quotation, expected one whose quotes match"),
        ("exec{depth=3}:python x", "got options depth, expected none"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused_before_the_games(cli: Cli, spec: str, complaint: str) -> None:
    _, errors = cli.run("match", spec, "random", code=2)
    assert complaint in errors


def test_program_with_spaces_in_its_path_is_refused_with_quotes(cli: Cli) -> None:
    program = cli.folder / "an engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    _, errors = cli.run("match", f"gomocup:{program}", "random", code=2)
    assert f"""Fix: Quote the path with spaces: "gomocup:'{program}'".""" in " ".join(errors.split())


def test_game_show_has_the_notes_for_an_admin(cli: Cli) -> None:
    database = f"sqlite:///{cli.folder / 'games.db'}"
    cli.run("match", f"Mine={cli.player('crash')}", "first-free", "--db", database)
    token = cli.json("token", "create", "--owner", "operator", "--scope", "admin", "--db", database)["token"]
    with cli.start("serve", "--no-web", "--listen", "127.0.0.1:0", "--db", database, "--format", "json") as server:
        try:
            assert server.stdout is not None
            cli.environment["NOUGHTS_SERVER"] = json.loads(server.stdout.readline())["grpc"]
            (row,) = cli.json("tournament", "list")["tournaments"]
            game = row["tournament"].removeprefix("tournaments/") + "/2"
            assert "notes" not in cli.json("game", "show", game)
            # Only the owner of a bot and an admin can read what the bot wrote.
            cli.environment["NOUGHTS_TOKEN"] = token
            document = cli.json("game", "show", game)
            assert document["notes"] == [{"side": "second", "text": "it ended with exit code 3\nwhat a pity\n"}]
            assert "\nMine: it ended with exit code 3\nwhat a pity\n" in cli.run("game", "show", game)[0]
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)


def test_bot_run_stops_after_three_crashes_and_prints_stderr(cli: Cli) -> None:
    with cli.start(
        "serve", "--no-web", "--listen", "127.0.0.1:0", "--db", f"{cli.folder / 'x.db'}", "--format", "json"
    ) as server:
        try:
            assert server.stdout is not None
            cli.environment["NOUGHTS_SERVER"] = json.loads(server.stdout.readline())["grpc"]
            created = cli.json("token", "create", "--owner", "ada", "--db", f"{cli.folder / 'x.db'}")
            cli.environment["NOUGHTS_TOKEN"] = created["token"]
            output, errors = cli.run("bot", "run", cli.player("dies at once"), code=1)
        finally:
            server.terminate()
            server.communicate(timeout=PATIENCE)
    assert output.count("the player: it ended with exit code 9\n") == 3
    assert errors.count("no licence found\n") == 3
    assert "the player ended 3 times without an answer; at last it ended with exit code 9" in errors


def test_match_of_engines_says_how_many_games_run_on_which_cores(noughts: Any) -> None:
    cores = len(os.sched_getaffinity(0))
    engine = f"gomocup:{sys.executable} {PROGRAMS / 'odd_engine.py'}"
    line = f"match '{engine}' 'Two={engine}' --variant mnk:7,7,5 --no-lock --format json --concurrency"
    result = noughts(f"{line} {cores + 6}")
    games = f"{cores} game{'s' if cores > 1 else ''} at once"
    share = "both engines of a game share a core (--no-affinity: the system places them)"
    assert f"{games}, one for each core (--processes {cores + 6} for more); {share}\n" in result.stderr
    assert json.loads(result.stdout)["games"] == 2
    assert "at once" not in noughts(f"{line} {cores}").stderr
    assert "at once" not in noughts(f"{line} {cores + 6} --processes 1").stderr
    assert "share a core" in noughts(f"{line} 1").stderr
    for choice in ("--affinity", "--no-affinity"):
        assert "share a core" not in noughts(f"{line} 1 {choice}").stderr
