"""Engines with odd habits that real engines have: none loses a game by them or is charged for our own work.

Every engine here is a process that speaks the real protocol. `tests/support/children/odd_engine.py` lists its habits.
"""

import json
import re
import shlex
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from noughts_referee.children.running_child import ChildSettings
from noughts_referee.stalls import Stalls
from noughts_server.engines.engine_connection import EngineConnection
from noughts_server.launching.launcher import SandboxMode
from noughts_server.local.plan import LocalError
from tests.support.children.field import PROGRAMS, Field
from tests.support.command_line import invoke

TIMES = ChildSettings(start=10.0, silence=5.0, stop=0.2, restart=10.0)
HALF_MARGIN_MS = 25


def engine(habits: str = "", label: str = "odd", options: str = "") -> str:
    command = shlex.join([sys.executable, str(PROGRAMS / "odd_engine.py"), *habits.split()])
    return f"{label}=gomocup{options}:{command}"


def commands_in(log: Path) -> list[str]:
    """Return the commands to the engine from its log, without the folder, which differs each time."""
    return [line for line in log.read_text().splitlines() if not line.startswith("INFO folder")]


@pytest.fixture
def field(tmp_path: Path) -> Field:
    return Field(tmp_path, SandboxMode.OFF)


async def check_plays(
    field: Field, habits: str, *, games: int = 6, time: str = "3/move", children: ChildSettings = TIMES
) -> None:
    """Play games against `random`, two at once, and check that each game ends on the board."""
    outcome = await field.play(
        engine(habits), "random", games=games, concurrency=2, variant="mnk:7,7,5", time=time, children=children
    )
    assert {game.termination for game in field.games} <= {"line", "board_full"}, outcome.faults
    assert len(field.games) == games
    assert not any(fault.games for fault in outcome.faults)


@pytest.mark.parametrize(
    "habits",
    [
        pytest.param("grumble", id="says ERROR before each move, because it was busy"),
        pytest.param("complain", id="complains about all infos"),
        pytest.param("complain=time_left", id="complains about the time that is left"),
        pytest.param("raw", id="writes its depth as a raw byte that may be 13"),
        pytest.param("ending=cr", id="ends its lines with CR alone"),
        pytest.param("ending=crlf", id="ends its lines with CR LF"),
        pytest.param("reads=lf", id="knows no CR"),
        pytest.param("reads=crlf", id="knows no LF without a CR"),
        pytest.param("one-start", id="dies at a second START"),
        pytest.param("no-restart", id="does not know RESTART"),
        pytest.param("deaf-once", id="misses one RESTART"),
        pytest.param("slow-restart=0.4", id="takes its time for RESTART"),
        pytest.param("slow-start=1.5", id="takes its time for START"),
        pytest.param("slow-info=0.06", id="takes its time for each info"),
        pytest.param("nameless", id="does not know ABOUT"),
        pytest.param("wordy", id="says more than OK"),
        pytest.param("suggest", id="suggests its moves"),
        pytest.param("messages=1000", id="says a thousand things before a move"),
        pytest.param("long=500000", id="says half a million things in one line"),
        pytest.param("stderr", id="writes to stderr"),
        pytest.param("stay", id="ignores END"),
        pytest.param("spells=signs", id="writes +7,+7"),
        pytest.param("spells=blanks", id="writes blanks around its numbers"),
        pytest.param("spells=zeros", id="writes 07,07"),
        pytest.param("spells=score", id="writes a score behind its move"),
        pytest.param("spells=comma", id="writes its colour behind its move"),
        pytest.param("spells=nul", id="writes a NUL behind its move"),
        pytest.param("spells=nul-text", id="writes a NUL and the rest of its buffer behind its move"),
        pytest.param("spells=nul-before", id="writes a NUL before its move"),
    ],
)
async def test_an_engine_that(field: Field, habits: str) -> None:
    await check_plays(field, habits)


async def test_an_engine_that_says_nothing_to_restart_plays_all_games(field: Field) -> None:
    await check_plays(field, "silent-restart", children=replace(TIMES, restart=1.0))


async def test_an_engine_with_several_manners_at_once_plays_without_a_clock(field: Field) -> None:
    await check_plays(field, "wordy ending=cr complain suggest messages=10 long=100000 stderr", time="none")


async def test_restart_on_is_a_process_for_each_game(field: Field, tmp_path: Path) -> None:
    pids = tmp_path / "engines"
    await field.play(
        engine(f"pid={pids}", options="{restart=on}"), "random", games=4, variant="mnk:7,7,5", children=TIMES
    )
    assert len(pids.read_text().split()) in (4, 5)  # another is made ready while the last game ends


async def test_an_engine_that_knows_restart_plays_all_games_in_one_process(field: Field, tmp_path: Path) -> None:
    pids = tmp_path / "engines"
    await field.play(engine(f"pid={pids} deaf-once"), "random", games=4, variant="mnk:7,7,5", children=TIMES)
    assert len(pids.read_text().split()) == 1


async def test_restart_off_is_a_crash_of_an_engine_that_refuses_it(field: Field) -> None:
    outcome = await field.play(
        engine("no-restart", options="{restart=off}"), "random", games=2, variant="mnk:7,7,5", children=TIMES
    )
    assert [fault.reason for fault in outcome.faults] == [
        "did not answer RESTART with OK, and restart=off forbids a new process"
    ]


async def test_a_refused_board_is_reported_before_the_first_game(field: Field) -> None:
    with pytest.raises(LocalError, match=r"odd: got an engine that answers START 15 with 'ERROR message .*expected OK"):
        await field.play(engine("refuse-size=15"), "random", variant="gomoku", children=TIMES)


@pytest.mark.parametrize(
    "said",
    [
        "ERROR Unknown rule id: 8. Rule is reset to freestyle...",
        "UNKNOWN command INFO rule 8",
        "MESSAGE rule 8 is not supported",
        "MESSAGE unsupported rule, freestyle is played",
    ],
)
async def test_a_rule_that_is_not_known_is_reported_before_the_first_game(field: Field, said: str) -> None:
    odd = engine(f"rule={said.replace(' ', '_')}")
    with pytest.raises(LocalError, match=r"odd: got an engine that answers INFO rule 8 with .*expected .* knows caro$"):
        await field.play(odd, "random", variant="caro", children=TIMES)
    await field.play(odd, "random", variant="mnk:7,7,5", children=TIMES)
    assert {game.termination for game in field.games} == {"line"}


@pytest.mark.parametrize("said", ["MESSAGE rules: renju, caro", "MESSAGE unknown option", "ERROR no such info"])
async def test_other_lines_about_the_terms_do_not_refuse_a_rule(field: Field, said: str) -> None:
    await field.play(engine(f"rule={said.replace(' ', '_')}"), "random", variant="caro", children=TIMES)
    assert len(field.games) == 2


@pytest.mark.parametrize("variant", ["tictactoe", "mnk:8,8,4", "connect4"])
async def test_variants_outside_the_protocol_are_refused_at_the_start(field: Field, variant: str) -> None:
    with pytest.raises(LocalError, match="expected a variant of Gomocup engines: five in a row on a flat board"):
        await field.play(engine(), "random", variant=variant, children=TIMES)


async def test_commands_of_a_game(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await field.play(
        engine(f"log={log}", options="{threads=2,depth=9,nodes=5000,memory=100,info.evaluate=1}"),
        "first-free", games=2, variant="gomoku", time="60+0", children=TIMES,
    )  # fmt: skip
    first, *rest = commands_in(log)
    assert first == "START 15"
    infos = rest[: rest.index("ABOUT")]
    assert infos == [
        "INFO timeout_turn 60000", "INFO timeout_match 60000", "INFO max_memory 104857600", "INFO game_type 2",
        "INFO rule 0", "INFO time_left 60000", "INFO thread_num 2", "INFO max_depth 9", "INFO max_node 5000",
        "INFO evaluate 1",
    ]  # fmt: skip
    commands_of_games = rest[len(infos) + 1 :]
    assert commands_of_games[:2] == ["INFO time_left 60000", "BEGIN"]
    assert commands_of_games[3].startswith("TURN ")
    assert commands_of_games.count("RESTART") == 1
    assert commands_of_games[-1] == "END"


async def test_base_time_and_limit_of_a_move_are_sent_together(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await field.play(engine(f"log={log}"), "first-free", games=1, variant="mnk:7,7,5", time="180/30+0", children=TIMES)
    lines = commands_in(log)
    assert lines[1:3] == ["INFO timeout_turn 30000", "INFO timeout_match 180000"]
    assert "INFO time_left 180000" in lines


async def test_without_a_clock_the_time_left_is_the_largest_number(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await field.play(engine(f"log={log}"), "first-free", games=1, variant="mnk:9,6,5", children=TIMES)
    lines = commands_in(log)
    assert lines[0] == "RECTSTART 9,6"
    assert lines[1:7] == [
        "INFO timeout_match 0", "INFO max_memory 367001600", "INFO game_type 2", "INFO rule 0",
        "INFO time_left 2147483647", "ABOUT",
    ]  # fmt: skip
    questions = [index for index, line in enumerate(lines) if line.startswith(("BEGIN", "TURN", "BOARD"))]
    assert questions
    assert {lines[index - 1] for index in questions} == {"INFO time_left 2147483647"}


async def test_board_on_shows_the_whole_board_with_every_question(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "log"
    await field.play(
        engine(f"log={log}", options="{board=on}"), "first-free", games=1, variant="mnk:7,7,5", children=TIMES
    )
    lines = commands_in(log)
    assert not any(line.startswith("TURN") for line in lines)
    second = lines.index("BOARD")
    assert lines[second : second + 4] == ["BOARD", "0,0,1", "1,0,2", "DONE"]


async def test_engine_runs_in_an_own_folder_or_in_that_of_its_program(field: Field, tmp_path: Path) -> None:
    script = tmp_path / "home" / "where.py"
    script.parent.mkdir()
    source = (PROGRAMS / "odd_engine.py").read_text()
    script.write_text(source.replace("def main() -> None:\n", "def main() -> None:\n    log(os.getcwd())\n"))
    log = tmp_path / "log"
    for options in ("", "{cwd=engine}"):
        spec = f"odd=gomocup{options}:{shlex.join([sys.executable, str(script), f'log={log}'])}"
        await field.play(spec, "random", games=1, variant="mnk:7,7,5", children=TIMES)
    own, home = [line for line in log.read_text().splitlines() if line.startswith("/")]
    assert home == str(script.parent)
    assert Path(own).name == "1" or "noughts-children-" in own


async def test_concurrent_games_use_as_many_processes(field: Field, tmp_path: Path) -> None:
    pids = tmp_path / "engines"
    await field.play(engine(f"pid={pids} think=0.01"), "random", games=8, concurrency=4, variant="mnk:7,7,5",
                     children=TIMES, processes=4)  # fmt: skip
    running = pids.read_text().split()
    assert len(set(running)) == 4
    assert not any(psutil.pid_exists(int(pid)) for pid in running)


async def test_only_the_engines_own_time_is_charged(field: Field, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Stalls, "within", lambda *_: 0)  # a busy machine halts us, which is credited
    await field.play(engine("think=0.05"), engine("think=0.05", "two"), games=2, variant="mnk:7,7,5", time="10/move",
                     children=TIMES, keep_times=True)  # fmt: skip
    times_us = sorted(us for game in field.games for us in game.times_us)
    assert len(times_us) >= 18
    # A busy machine makes some times longer. It can also stop us between a question and the look at the clock.
    assert times_us[len(times_us) // 2] >= 50_000
    assert times_us[0] < 50_000 + HALF_MARGIN_MS * 1000


async def test_all_messages_are_logged_with_times_in_a_file_for_each_game(field: Field, tmp_path: Path) -> None:
    log, messages = tmp_path / "said", tmp_path / "messages.jsonl"
    await field.play(engine("raw"), engine("", "two"), games=3, variant="mnk:7,7,5", children=TIMES, log=log,
                     messages=messages)  # fmt: skip
    assert sorted(path.name for path in log.iterdir()) == ["000001.log", "000002.log", "000003.log"]
    log_text = (log / "000001.log").read_bytes().decode()
    lines = [line.split(maxsplit=3) for line in log_text.split("\n") if line]
    commands = [(label, direction, text) for _, label, direction, text in lines]
    assert next(text for label, direction, text in commands if (label, direction) == ("odd", "<")) == "START 7"
    assert ("odd", "<", "BEGIN") in commands
    moves = [text for label, direction, text in commands if direction == ">" and "," in text and "=" not in text]
    assert moves == [f"{cell % 7},{cell // 7}" for cell in field.games[0].moves]
    times = [float(line[0]) for line in lines if line[1] == "odd"]
    assert times == sorted(times)
    message_lines = [json.loads(line) for line in messages.read_text().splitlines()]
    assert message_lines[0] == {"game": 1, "ply": 0, "bot": "odd", "line": "MESSAGE depth \r eval 12"}


async def test_logs_of_an_earlier_run_are_not_overwritten(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "said"
    await field.play(engine(), "random", games=1, variant="mnk:7,7,5", children=TIMES, log=log)
    before = (log / "000001.log").read_bytes()
    with pytest.raises(FileExistsError, match="logs of an earlier run") as refused:
        await field.play(engine(), "random", games=1, variant="mnk:7,7,5", children=TIMES, log=log)
    assert refused.value.filename == str(log)
    assert (log / "000001.log").read_bytes() == before


@pytest.mark.parametrize(
    "callback, habits", [("receive_move", ""), ("_check_clock", "think=2"), ("process_ended", "crash at=1")]
)
async def test_an_internal_error_in_a_callback_ends_the_run(
    field: Field, monkeypatch: pytest.MonkeyPatch, callback: str, habits: str
) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise ArithmeticError("ours")

    monkeypatch.setattr(EngineConnection, callback, fail)
    with pytest.raises(ArithmeticError, match="ours"):
        # An engine that exceeds its time makes the loop check the clock.
        await field.play(engine(habits), "random", games=2, variant="mnk:7,7,5", time="0.1/move", children=TIMES)


def test_scores_and_depths_of_an_engine_are_in_the_games_of_a_run(tmp_path: Path) -> None:
    games, command = tmp_path / "games.jsonl", engine("scores")
    words = ["match", command, "random", "--variant", "mnk:7,7,5", "--games", "2", "--no-lock", "-o", str(games)]
    invoke(words)
    for first, line in zip((True, False), games.read_text().splitlines(), strict=True):
        scores = json.loads(line)["scores"]
        own, other = scores[not first :: 2], scores[first::2]
        assert (set(own), set(other)) == ({29_991.0, -12.0}, {None})
        thoughts = json.loads(line)["thoughts"]
        # One process plays both games and counts its moves.
        begin = next(iter(thoughts.values()))["depth"]
        assert thoughts == {str(2 * move + (not first)): {"depth": begin + move} for move in range(len(own))}


async def test_games_do_not_depend_on_the_number_of_processes(field: Field) -> None:
    games = []
    for concurrency, processes in ((1, 1), (4, 2), (4, 4)):
        await field.play(engine(), "random", engine("wordy", "two"), games=4, variant="mnk:7,7,5", children=TIMES,
                         concurrency=concurrency, processes=processes)  # fmt: skip
        games.append(field.games)
    assert games[0] == games[1] == games[2]


@pytest.mark.parametrize("swap2", ["on", "colours"])
async def test_an_engine_agrees_on_openings_by_swap2board(field: Field, tmp_path: Path, swap2: str) -> None:
    command = shlex.join([sys.executable, "-m", "noughts_server.cli", "bot", "gomocup", "threats:nodes=50"])
    log = tmp_path / "said"
    await field.play(
        f"engine=gomocup{{swap2={swap2}}}:{command}", "random", games=4, variant="gomoku+swap2", children=TIMES, log=log
    )
    assert {game.termination for game in field.games} == {"line"}
    log_text = "\n".join(path.read_text() for path in log.iterdir())
    assert log_text.count("engine < SWAP2BOARD") >= 4  # at least once a game: who does not open chooses
    assert "engine < BOARD" in log_text
    stones = re.findall(r"SWAP2BOARD\n +[\d.]+ engine < (\d+,\d+\S*)\n", log_text)
    assert stones
    assert {stone.count(",") for stone in stones} == {2 if swap2 == "colours" else 1}


@pytest.mark.parametrize("habit", ["colour", "error", "silent", "waits"])
@pytest.mark.parametrize(
    "swap2, wants, advice", [("on", "wants-colours", "swap2=colours"), ("colours", "wants-points", "swap2=on")]
)
async def test_the_form_of_swap2board_that_an_engine_expects_is_detected(
    field: Field, habit: str, swap2: str, wants: str, advice: str
) -> None:
    odd = engine(f"{wants}={habit}", options=f"{{swap2={swap2}}}")
    await field.play(odd, "random", games=4, variant="gomoku+swap2", children=TIMES)
    assert {game.termination for game in field.games} == {"line"}
    assert [note for note in field.run_notes if advice in note]


async def test_without_swap2board_the_usual_opening_choices_are_made(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "said"
    await field.play(engine(), "random", games=2, variant="gomoku+swap2", children=TIMES, log=log)
    assert {game.termination for game in field.games} == {"line"}
    assert "SWAP2BOARD" not in "\n".join(path.read_text() for path in log.iterdir())


async def test_a_swap2_answer_off_the_board_is_an_illegal_move(field: Field) -> None:
    for answer in ("99,99", "-1,-1"):
        # It opens the second game: a point is no answer there, and the engine is silent.
        await field.play(
            engine(f"swap2={answer}", options="{swap2=on}"), "random", games=2, variant="gomoku+swap2", children=TIMES
        )
        assert {game.termination for game in field.games} == {"illegal_move", "crashed"}, answer


async def test_logs_that_cannot_be_written_stop_no_game(field: Field, tmp_path: Path) -> None:
    log = tmp_path / "said"
    (log / "000002.log").mkdir(parents=True)
    await field.play(engine(), "random", games=3, variant="mnk:7,7,5", children=TIMES, log=log)
    assert len(field.games) == 3


async def test_an_engine_that_refuses_a_later_start_is_disabled(field: Field, tmp_path: Path) -> None:
    once = tmp_path / "once"
    outcome = await field.play(
        engine(f"start-once={once}", options="{restart=on}"), "random", games=3, variant="mnk:7,7,5", children=TIMES
    )
    assert len(field.games) == 3
    assert outcome.disabled


async def test_messages_are_not_taken_for_the_answer_to_about(field: Field) -> None:
    await check_plays(field, "nameless loading=0.6", games=2)
