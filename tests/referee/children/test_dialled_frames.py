"""Programs that the referee starts and that connect by gRPC: the faults of pipes, and one open port in the sandbox."""

import shlex
import socket
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from noughts_bots import Bot, BotRefused
from noughts_bots.connection.run import run_async
from noughts_bots.reference.specs import connects_itself, parse_spec
from noughts_proto.v1 import play_pb2 as pb
from noughts_referee.children.dialled_frames import DialInvitation, DialledFrames
from noughts_referee.children.running_child import ChildSettings
from noughts_referee.stream_closed import StreamClosed
from noughts_server.cli import main
from noughts_server.launching.launcher import SandboxMode
from tests.support.children.field import PROGRAMS, Field, losses

DIALLER = PROGRAMS / "dialler.py"
# Long limits for slow machines: no test waits for them.
PATIENT = ChildSettings(start=60.0, silence=60.0, stop=10.0, heartbeat=1.0)


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field(tmp_path, SandboxMode.REQUIRED)


def dialler_spec(field: Field, *habit: str, label: str = "bad") -> str:
    command = shlex.join([sys.executable, str(DIALLER), str(field.notes), *habit])
    return f"{label}=exec{{dial=true}}:{command}"


def honest_spec(field: Field) -> str:
    """An opponent on pipes, which starts faster than one with gRPC."""
    return field.player("honest", "honest")


class Fault(NamedTuple):
    """A habit, and the expected fault."""

    habit: str
    reason: str
    printed: str = ""
    """A part of the stderr that its owner reads."""
    processes: int = 1
    """Number of processes, each of which loses one game."""
    times: ChildSettings = replace(PATIENT, stop=0.2)
    """Mostly the process continues, and the referee must end it soon."""


FAULTS = (
    Fault("crash", "ended with exit code 3", "what a pity\n", processes=2, times=PATIENT),
    Fault("leaves", "left its stream (PlayService.Play)"),
    Fault("stop", "silent for 1 s during its turn", times=replace(PATIENT, stop=0.2, silence=1.0)),
    Fault("no message", "sent a message that is not a PlayRequest"),
    Fault("endless frames", "sent 1,001 unrequested frames"),
)


@pytest.mark.at_length
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.habit)
async def test_a_bad_dialling_bot_loses_for_a_reason_and_leaves_nothing(field: Field, fault: Fault) -> None:
    specs = (dialler_spec(field, fault.habit), honest_spec(field))
    outcome = await field.play(*specs, games=fault.processes, children=fault.times)
    assert outcome.terminations == {"crashed": fault.processes}
    assert losses(field.games, "bad") == fault.processes
    (child_fault,) = outcome.faults
    assert fault.reason in child_fault.reason
    assert fault.printed in child_fault.stderr
    assert (child_fault.times, child_fault.disabled) == (fault.processes, False)
    assert field.survivors() == []


async def test_without_the_sandbox_the_fault_is_the_same(field: Field) -> None:
    field.sandbox_mode = SandboxMode.OFF
    outcome = await field.play(dialler_spec(field, "crash"), "first-free", games=2, children=PATIENT)
    (child_fault,) = outcome.faults
    assert (child_fault.reason, child_fault.times, child_fault.games) == ("ended with exit code 3", 2, 2)
    assert len(field.lives()) - child_fault.times in (0, 1)
    assert field.survivors() == []


@pytest.mark.parametrize(
    "habit, reason, printed, start",
    [
        ("never dials", "did not connect (NOUGHTS_SERVER and NOUGHTS_TICKET in its environment", "", 0.4),
        ("dies at once", "ended with exit code 1", "no licence found\n", 60.0),
        ("wrong ticket", "ended with exit code 1", "BotRefused: the token is unknown", 60.0),
    ],
)
async def test_a_bot_that_fails_to_connect_three_times_is_disabled(
    field: Field, habit: str, reason: str, printed: str, start: float
) -> None:
    times = ChildSettings(start=start, stop=0.2)
    outcome = await field.play(dialler_spec(field, habit), "first-free", games=20, concurrency=4, children=times)
    (child_fault,) = outcome.faults
    assert (child_fault.disabled, child_fault.times, child_fault.games) == (True, 3, 20)
    assert child_fault.reason.startswith(reason)
    assert printed in child_fault.stderr
    assert outcome.terminations == {"crashed": 20}
    assert losses(field.games, "bad") == 20
    assert field.survivors() == []


async def test_a_sandboxed_bot_reaches_only_the_referee_with_one_ticket(field: Field) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        outcome = await field.play(
            dialler_spec(field, "tries more", port), honest_spec(field), games=1, children=PATIENT
        )
    (child_fault,) = outcome.faults
    assert child_fault.reason == "ended with exit code 3"
    assert child_fault.stderr.endswith("another port: Permission denied\nits ticket again: UNAUTHENTICATED\n")


async def test_the_output_of_a_dialling_bot_is_ignored(field: Field) -> None:
    specs = (dialler_spec(field, "much to print", label="good"), honest_spec(field))
    outcome = await field.play(*specs, games=20, concurrency=8, children=PATIENT)
    assert (outcome.terminations, outcome.faults) == ({"line": 20}, ())
    assert field.survivors() == []


async def test_a_bot_with_a_ticket_does_not_dial_a_second_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUGHTS_TICKET", "ticket_used")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        nobody = f"127.0.0.1:{listening.getsockname()[1]}"
    with pytest.raises(BotRefused):
        await run_async(Bot(), server=nobody)


async def test_a_ticket_of_an_ended_process_is_refused() -> None:
    frames = DialledFrames()
    frames.close_writing()
    with pytest.raises(StreamClosed, match="got one from a process that must end"):
        await frames.carry(pb.Hello(protocol=1), frames)


@pytest.mark.parametrize("text, dials", [("exec:x", False), ("exec{dial=false}:x", False), ("exec{dial=true}:x", True)])
def test_the_option_dial_of_a_spec_is_read(text: str, dials: bool) -> None:
    assert connects_itself(parse_spec(text)) is dials


@pytest.mark.parametrize(
    "command, complaint",
    [
        ("match exec{dial=yes}:python random", "option dial: got yes, expected true or false"),
        ("match exec{dial=true,depth=3}:PYTHON random", "got options depth, expected none but dial or frames"),
        ("match exec{dial=true}:no-such-program random", "got program 'no-such-program'"),
        ("bot run exec{dial=true}:PYTHON", "Run it yourself, with NOUGHTS_SERVER and NOUGHTS_TOKEN set"),
        (
            "bot ask exec{dial=true}:PYTHON",
            "got a program that connects by itself, expected one that plays on its standard",
        ),
    ],
)
def test_wrong_uses_of_dial_are_refused_with_a_fix(
    command: str, complaint: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["noughts", *command.replace("PYTHON", sys.executable).split()])
    with pytest.raises(SystemExit) as exit_code:
        main()
    assert exit_code.value.code == 2
    assert complaint in " ".join(capsys.readouterr().err.split())


def test_an_invitation_also_sets_the_token_variable() -> None:
    invitation = DialInvitation("127.0.0.1:7450", "ticket_x")
    assert invitation.port == 7450
    assert invitation.environment == {
        "NOUGHTS_SERVER": "127.0.0.1:7450",
        "NOUGHTS_TICKET": "ticket_x",
        "NOUGHTS_TOKEN": "ticket_x",
    }
