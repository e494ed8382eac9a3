"""`noughts bot gomocup`: an engine that answers a manager's commands; our own adapter of engines is a manager, too."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys

import pytest

from noughts_bots import Position, parse_variant
from noughts_bots.reference.candidate_bot import CandidateBot
from noughts_bots.reference.specs import BotSpec, make_bot, parse_spec
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.rules import VOID
from noughts_server.bot_check.child_session import ChildSession, child_session
from noughts_server.launching.launcher import SandboxMode, launching
from tests.server.cli.conftest import Refusal
from tests.support.patience import PATIENCE
from tests.support.processes import PROGRAM
from tests.support.reference_bots import bot_of

COMMAND = f"{sys.executable} -m noughts_server.cli bot gomocup"


def converse(line: str, stdin: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *line.split()], input=stdin, capture_output=True, text=True, check=False)


def test_commands_of_a_manager_are_answered_line_by_line_until_end() -> None:
    run = converse("bot gomocup first-free", "START 15\r\nINFO rule 0\r\nBEGIN\r\nTURN 1,0\r\nEND\r\nTURN 5,5\r\n")
    assert (run.stdout, run.stderr, run.returncode) == ("OK\n0,0\n2,0\n", "", 0)


def test_end_of_stdin_ends_the_engine() -> None:
    run = converse("bot gomocup minimax:depth=1", "START 15\nFOO")
    assert (run.stdout, run.returncode) == ("OK\nUNKNOWN FOO\n", 0)


def test_each_answer_comes_as_soon_as_its_line() -> None:
    with subprocess.Popen(
        [*PROGRAM, "bot", "gomocup", "first-free"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for command, answer in (("START 15", "OK"), ("BEGIN", "0,0"), ("TURN 1,0", "2,0")):
            process.stdin.write(f"{command}\n")
            assert process.stdout.readline() == f"{answer}\n"
        process.stdin.write("END\n")
        assert process.wait(PATIENCE) == 0


def test_json_is_a_line_on_stderr_at_the_end() -> None:
    run = converse("bot gomocup first-free --seed 7 --format json", "START 15\nBEGIN\nRESTART\nBEGIN\nTURN 1,0\nEND\n")
    assert run.stdout == "OK\n0,0\nOK\n0,0\n2,0\n"
    assert json.loads(run.stderr) == {"games": 2, "moves": 3, "seed": 7}


def test_seed_determines_the_moves() -> None:
    commands = "START 20\nBEGIN\nTURN 0,0\nEND\n"
    first, second, other = (converse(f"bot gomocup random --seed {seed}", commands).stdout for seed in (1, 1, 2))
    assert first == second != other


def test_an_explanation_is_printed_if_stdin_is_a_terminal() -> None:
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, "bot", "gomocup", "first-free"], stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        os.close(terminal)
        os.write(controller, b"START 15\nEND\n")
        output, errors = process.communicate(timeout=PATIENCE)
    os.close(controller)
    assert output == b"OK\n"
    assert b"To try it: START 15" in errors


def test_a_wrong_spec_is_refused(refusal: Refusal) -> None:
    refusal("bot gomocup pascl", code=2)
    refusal("bot gomocup exec:./foo", code=2)


async def assert_same_moves(session: ChildSession, bot: CandidateBot, position: Position, last_ply: int) -> None:
    """Continue the game against random moves up to `last_ply`; each move of the engine must be a candidate of the bot.

    A bot chooses at random among its candidates.
    """
    variant, opponent, side = position.variant, make_bot(parse_spec("random")), position.side
    game = session.begin(variant, side, 1, position.moves)
    while position.free and position.ply < last_ply:
        if position.side == side:
            cell = (await session.ask(game, position.moves)).cell
            assert cell in bot.consider(position).candidates
        else:
            choice = opponent.choose(position.copy())
            assert isinstance(choice, int)
            cell = choice
        position.play(cell)
        if variant.completes(position.opponent, cell):
            break
    await session.end(game, VOID, position.moves)


@pytest.mark.at_length
@pytest.mark.parametrize("spec", ["first-free", "minimax:depth=2", "threats:nodes=150"])
@pytest.mark.parametrize("opening", [0, 2, 3])
async def test_a_bot_makes_the_same_moves_through_the_protocol(spec: str, opening: int) -> None:
    bot = bot_of(spec)
    engine = BotSpec(None, "gomocup", f"{COMMAND} {spec}", {})
    async with (
        launching(SandboxMode.OFF, lambda note: None) as launcher,
        child_session(engine, launcher, ChildSettings(start=20.0), move_seconds=20.0) as session,
    ):
        await session.greet()
        for variant in map(parse_variant, ("gomoku", "gomoku20", "mnk:12,9,5")):
            middle = variant.cells // 2
            position = Position.after(variant, range(middle, middle + opening), seed=opening)
            await assert_same_moves(session, bot, position, last_ply=20)
