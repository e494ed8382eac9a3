"""`noughts bot check` and `bot ask` of bots in children: games against chance, and what is said of each fault."""

import os
from pathlib import Path

import pytest

from noughts_bots.ask import ask
from noughts_bots.checkup import Checkup, check
from noughts_bots.child import Child, ChildBot, command_of, moves_to
from noughts_bots.errors import BotFault, BotSpecError
from noughts_bots.reference.random_ import Random
from noughts_bots.specs import BotSpec, parse_spec
from noughts_referee.rules import Position, PositionError, parse_variant

from .hosting import C_EXAMPLES, compiled

TICTACTOE = parse_variant("tictactoe")


def bot(folder: Path, choose: str, before: str = "") -> BotSpec:
    """The spec of a bot in Python with this line as its `choose`."""
    lines = (before, "import os, random, sys", "from noughts_bots import Bot, Resign", "class Made(Bot):")
    (folder / "made.py").write_text("\n".join((*lines, f"    def choose(self, position):\n        {choose}\n")))
    return parse_spec(f"py:{folder}/made.py:Made")


def checked(spec: BotSpec, games: int = 6, variant: str = "tictactoe", seconds: float = 20) -> Checkup:
    return check(spec, parse_variant(variant), games=games, seed=3, move_seconds=seconds)


@pytest.mark.parametrize("variant", ["tictactoe", "connect4", "tictactoe3d"])
def test_a_good_library_has_no_fault_and_repeats_its_games(tmp_path: Path, variant: str) -> None:
    library = compiled(C_EXAMPLES / "reach.c", tmp_path, name="reach")
    found = checked(parse_spec(f"dll{{choice=lot}}:{library}"), 20, variant)
    assert found.faults == []
    assert found.repeats
    assert (found.name, len(found.games)) == ("reach", 20)
    assert found.wins > found.losses
    assert found.wins + found.draws + found.losses == 20
    assert len({len(game) for game in found.games}) > 1


def test_a_bot_that_draws_from_elsewhere_is_told_from_one_that_repeats(tmp_path: Path) -> None:
    found = checked(bot(tmp_path, "return random.choice(position.free)"), 30)
    assert (found.faults, found.repeats) == ([], False)
    assert checked(bot(tmp_path, "return position.draws().choice(position.free)"), 30).repeats


@pytest.mark.parametrize(
    "choose, complaint",
    [
        ("return 4", "got cell 4 after "),
        ("return 99", "got cell 4294967295 after [], expected a free one: 0 1 2 3 4 5 6 7 8"),
        ("raise Resign", "it resigns every game"),
        ("raise ValueError('why')", "it resigns every game"),
        ("os._exit(7)", "got its end with exit code 7, expected a move"),
        ("os.abort()", "got its end by SIGABRT, expected a move"),
    ],
)
def test_each_fault_is_said_on_a_line(tmp_path: Path, choose: str, complaint: str) -> None:
    found = checked(bot(tmp_path, choose))
    assert complaint in "\n".join(found.faults)


def test_a_bot_that_does_not_play_the_variant_is_told_so(tmp_path: Path) -> None:
    made = bot(tmp_path, "return position.free[0]")
    file = tmp_path / "made.py"
    file.write_text(file.read_text() + "    variants = ('tictactoe', 'mnk:7,6,4')\n")
    assert checked(made).faults == checked(made, variant="mnk:7,6,4").faults == []
    assert checked(made, variant="connect4").faults == ["got variant connect4, expected one of tictactoe, mnk:7,6,4"]


def test_what_a_faulty_bot_printed_is_kept(tmp_path: Path) -> None:
    found = checked(bot(tmp_path, "raise ValueError('why')", before="print('x' * 100_000, 'here')"))
    assert "ValueError: why" in found.said
    assert len(found.said) <= 64 * 1024
    found = checked(bot(tmp_path, "return 0", before="raise RuntimeError('not today')"))
    assert found.faults == ["got its end with exit code 1, expected a hello"]
    assert "got RuntimeError: not today, expected a module that can be imported" in found.said.splitlines()[-1]


def test_a_bot_that_is_silent_is_given_up_and_is_gone_afterwards(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    silent = f"open({str(told)!r}, 'w').write(str(os.getpid())); [None for _ in iter(int, 1)]"
    found = checked(bot(tmp_path, silent), seconds=0.3)
    assert found.faults == ["got no answer in time, expected a move"]
    with pytest.raises(ProcessLookupError):
        os.kill(int(told.read_text()), 0)


@pytest.mark.parametrize(
    "command, complaint",
    [
        ("true", "got its end with exit code 0, expected a hello"),
        ("printf 'hello, world'", "or no frames on its stdout, expected at most"),
        ("printf '\\001\\000\\000\\000\\377'", "got a message that is no PlayRequest, expected a hello"),
        ("printf '\\000\\000\\000\\000'", "got protocol 0, expected 1"),
        ("./no-such-program", "got ./no-such-program: No such file or directory, expected a program"),
    ],
)
def test_a_program_that_speaks_no_frames_is_found_out(command: str, complaint: str) -> None:
    assert complaint in checked(BotSpec(None, "exec", command)).faults[0]


def test_only_what_is_started_is_checked() -> None:
    for text in ("random", "bot:alice", "wasm:a.wasm"):
        with pytest.raises(BotSpecError, match="expected one of py, dll, gomocup, exec"):
            checked(parse_spec(text))
    assert command_of(parse_spec("exec:./player --name 'a b'")) == ["./player", "--name", "a b"]
    with pytest.raises(BotSpecError, match="close its quotes"):
        command_of(parse_spec("exec:./player 'a"))


@pytest.mark.parametrize("text", [".........", "X...O...X O", "XO.......", "XX.OO.... X"])
def test_a_child_answers_positions_as_the_bot_itself_does(text: str) -> None:
    with Child(parse_spec("py:noughts_bots.reference.random_:Random")) as child:
        for seed in range(5):
            answered = ask(ChildBot(child), TICTACTOE, text, seed=seed)
            assert answered["move"] == ask(Random(), TICTACTOE, text, seed=seed)["move"]


def test_a_child_that_answers_with_an_occupied_cell_is_at_fault(tmp_path: Path) -> None:
    with Child(bot(tmp_path, "return 0")) as child, pytest.raises(BotFault, match="got cell 0 on X"):
        ask(ChildBot(child), TICTACTOE, "X........ O")


def test_moves_that_lead_to_a_position_take_turns_and_rest_on_others() -> None:
    connect4 = parse_variant("connect4")
    played = Position.after(connect4, (38, 31, 24, 35, 17, 28, 39, 21, 32))
    set_up = Position.parse(connect4, str(played))
    again = Position(connect4)
    for cell in moves_to(set_up):
        assert cell in again.free
        again.play(cell)
    assert str(again) == str(played)
    for text in ("X........ X", "XX....... O", "O........ X"):
        with pytest.raises(PositionError, match="moves in turns"):
            moves_to(Position.parse(TICTACTOE, text))
