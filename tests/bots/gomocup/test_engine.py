"""Reference bots as Gomocup engines, line by line and without a process."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_bots import Bot, GameInfo, Position, Resign
from noughts_bots.gomocup.engine import GomocupEngine
from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import members


class Recorder(Bot):
    """Takes the lowest free cell, and records its games and the positions of its questions."""

    def __init__(self) -> None:
        self.positions: list[Position] = []
        self.games: list[GameInfo] = []

    def start(self, game: GameInfo) -> None:
        self.games.append(game)

    def choose(self, position: Position) -> int:
        self.positions.append(position)
        return position.free[0]


class Quitter(Bot):
    """Resigns every game."""

    def choose(self, position: Position) -> int:
        raise Resign


def engine(bot: Bot | str = "first-free", seed: int = 0) -> GomocupEngine:
    bot = make_bot(parse_spec(bot)) if isinstance(bot, str) else bot
    return GomocupEngine(bot, name="noughts-test", version="1.2", seed=seed)


def answers_to(machine: GomocupEngine, *lines: str) -> list[str | None]:
    return [machine.answer(line) for line in lines]


def test_a_match_as_the_protocol_shows_it() -> None:
    machine = engine()
    assert answers_to(machine, "ABOUT", "INFO timeout_match 300000", "START 20", "BEGIN", "TURN 1,0", "END") == [
        'name="noughts-test", version="1.2", author="Noughts"', None, "OK", "0,0", "2,0", None,
    ]  # fmt: skip
    assert machine.ended
    assert (machine.games, machine.moves) == (1, 2)


WORDS = [
    "START",
    "RECTSTART",
    "RESTART",
    "BEGIN",
    "TURN",
    "BOARD",
    "DONE",
    "TAKEBACK",
    "INFO",
    "ABOUT",
    "PLAY",
    "5,5,1",
]
RESTS = [
    "",
    "6",
    "6,7",
    "1,1",
    "1,1,2",
    "1,-1",
    "999,999",
    "rule 1",
    "rule 0",
    "timeout_turn -3",
    "time_left 9e9",
    "x" * 99,
]


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(RESTS) | st.text(max_size=8)), max_size=30))
def test_any_line_of_a_manager_gets_one_line_or_none(sent: list[tuple[str, str]]) -> None:
    machine = engine()
    for word, rest in sent:
        answer = machine.answer(f"{word} {rest}")
        assert answer is None or answer.splitlines() == [answer]
    # Afterwards it still plays.
    assert answers_to(machine, "DONE", "INFO rule 0", "START 15", "BEGIN")[2:] == ["OK", "0,0"]


def test_commands_can_be_in_lower_case() -> None:
    assert answers_to(engine(), "start 15", "begin") == ["OK", "0,0"]


@pytest.mark.parametrize(
    "line, answer",
    [
        ("SUGGEST 1,1", "UNKNOWN SUGGEST"),
        ("PLAY 1,1", "UNKNOWN PLAY"),
        ("gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n", "UNKNOWN"),
        ("START", "ERROR expected START SIZE, e.g. START 15"),
        ("START x", "ERROR expected START SIZE, e.g. START 15"),
        ("START 4", "ERROR mnk:4,4,5: expected"),
        ("START 31", "ERROR mnk:31,31,5: expected boards from 1x1 to 30x30"),
        ("RECTSTART 30", "ERROR expected RECTSTART WIDTH,HEIGHT, e.g. RECTSTART 30,20"),
        ("TURN 15,0", "ERROR expected a point X,Y on the board, got '15,0'"),
        ("TURN nowhere", "ERROR expected a point X,Y on the board, got 'nowhere'"),
        ("TURN 0,0", "ERROR '0,0' is occupied"),
        ("BEGIN", "ERROR BEGIN needs an empty board; send RESTART first"),
        ("TAKEBACK 5,5", "ERROR no stone at '5,5'"),
        ("DONE", "ERROR DONE without BOARD"),
    ],
)
def test_impossible_commands_are_errors_and_change_nothing(line: str, answer: str) -> None:
    machine = engine()
    assert answers_to(machine, "START 15", "BEGIN") == ["OK", "0,0"]
    error = machine.answer(line)
    assert error is not None
    assert error.startswith(answer)
    assert machine.answer("TURN 1,0") == "2,0"


@pytest.mark.parametrize("line", ["BEGIN", "TURN 1,1", "RESTART", "TAKEBACK 1,1"])
def test_moves_without_a_board_are_errors(line: str) -> None:
    assert engine().answer(line) == "ERROR no board yet; START SIZE makes one"


def test_a_bot_that_refuses_a_board_names_those_it_plays() -> None:
    error = engine("coursework").answer("START 15")
    assert error is not None
    assert error.startswith("ERROR bot 'coursework' does not play variant gomoku (225 cells); it plays ")
    error = answers_to(engine("minimax:depth=1"), "INFO rule 4", "START 15")[1]
    assert error is not None
    assert error.startswith("ERROR bot 'minimax' does not play variant renju, which forbids moves; it plays ")
    error = engine("level:elo=1500").answer("START 10")
    assert error is not None
    assert error.startswith("ERROR bot 'level' does not play variant mnk:10,10,5 (100 cells); it plays ")


@pytest.mark.parametrize(
    "size, rule, name",
    [
        (15, 1, "gomoku:exact"),
        (15, 2, None),
        (15, 4, "renju"),
        (20, 4, "renju:20"),
        (15, 5, None),
        (15, 8, "caro"),
        (20, 9, "caro:exact:20"),
    ],
)
def test_the_rule_and_the_size_make_the_variant(size: int, rule: int, name: str | None) -> None:
    bot = Recorder()
    machine = engine(bot)
    # The engine reports a problem with an info at the next request for a move.
    assert answers_to(machine, f"START {size}", f"INFO rule {rule}") == ["OK", None]
    answer = str(machine.answer("BEGIN"))
    assert answer == "0,0" if name else answer.startswith(f"ERROR {size}x{size} with rule {rule}: expected rule 0")
    assert [position.variant.name for position in bot.positions] == ([name] if name else [])


def test_stones_of_board_come_in_any_order_and_counts_give_the_side() -> None:
    bot = Recorder()
    machine = engine(bot)
    assert answers_to(machine, "RECTSTART 20,15", "BOARD", "0,0,2", "1,0,2", "2,0,1", "DONE")[-1] == "3,0"
    (position,) = bot.positions
    assert (position.variant.name, position.side, position.moves) == ("mnk:20,15,5", 1, [])
    assert (list(members(position.own)), list(members(position.opponent))) == ([2], [0, 1])


def test_stones_of_board_in_playing_order_are_a_game() -> None:
    bot = Recorder()
    machine = engine(bot)
    answers_to(machine, "START 15", "BOARD", "7,7,1", "8,8,2", "DONE", "TURN 9,9")
    assert [position.moves for position in bot.positions] == [[112, 128], [112, 128, 0, 144]]
    assert {position.side for position in bot.positions} == {0}


def test_a_board_that_cannot_be_read_is_an_error_and_the_next_one_counts() -> None:
    machine = engine()
    answers_to(machine, "START 15")
    assert answers_to(machine, "BOARD", "0,0,3", "DONE")[-1] == "ERROR expected X,Y,1 or X,Y,2 after BOARD, got '0,0,3'"
    assert answers_to(machine, "BOARD", "0,0,1", "0,0,2", "DONE")[-1] == "ERROR '0,0' is occupied"
    assert answers_to(machine, "BOARD", "0,0,1", "1,0,2", "DONE")[-1] == "2,0"


def test_takeback_and_restart_work() -> None:
    machine = engine()
    assert answers_to(machine, "START 15", "BEGIN", "TURN 1,0", "TAKEBACK 2,0", "TAKEBACK 1,0", "TURN 5,5") == [
        "OK", "0,0", "2,0", "OK", "OK", "1,0",
    ]  # fmt: skip
    assert answers_to(machine, "RESTART", "BEGIN", "START 20", "BEGIN") == ["OK", "0,0", "OK", "0,0"]


@pytest.mark.parametrize(
    "infos, clock_us, limit_us, move, bank",
    [
        ((), 0, 0, 0.0, 0.0),
        (("timeout_match 0", "time_left 2147483647"), 0, 0, 0.0, 0.0),
        (("timeout_turn 1500", "timeout_match 0", "time_left 2147483647"), 1_500_000, 1_500_000, 1.5, 0.0),
        (("timeout_turn 0",), 1, 1, 1e-6, 0.0),
        (("timeout_turn 5000", "timeout_match 180000", "time_left 170000"), 170_000_000, 5_000_000, 5.0, 180.0),
        (("time_left 60000",), 60_000_000, 60_000_000, 0.0, 60.0),
        (("timeout_match 1000", "time_left -5"), 1, 1, 0.0, 1.0),
        (("timeout_turn soon", "colour blue", ""), 0, 0, 0.0, 0.0),
    ],
)
def test_times_of_the_manager_are_the_bots_clock(
    infos: tuple[str, ...], clock_us: int, limit_us: int, move: float, bank: float
) -> None:
    bot = Recorder()
    machine = engine(bot)
    assert answers_to(machine, "START 15", *(f"INFO {info}" for info in infos)) == ["OK", *(None for _ in infos)]
    answers_to(machine, "BEGIN", "TURN 1,0")
    assert {(position.own_clock_us, position.limit_us) for position in bot.positions} == {(clock_us, limit_us)}
    (game,) = bot.games
    assert (game.time.move, game.time.bank) == (move, bank)


def test_threats_keeps_the_move_limit_of_a_match_with_base_time() -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 0.001
        return now[0]

    from noughts_bots.reference.threats.bot import ThreatsBot

    machine = engine(ThreatsBot(clock=clock))
    answers_to(machine, "START 15", "INFO timeout_turn 200", "INFO timeout_match 3600000", "INFO time_left 3600000")
    answers_to(machine, "BOARD", "7,7,2", "7,8,1", "9,9,2", "DONE")
    assert now[0] < 0.2


def test_random_moves_follow_from_the_seed_and_differ_between_games() -> None:
    def first_moves(seed: int) -> list[str | None]:
        return answers_to(engine("random", seed), *(("START 20", "BEGIN") * 5))

    assert first_moves(1) == first_moves(1)
    assert first_moves(1) != first_moves(2)
    assert len(set(first_moves(1))) == 6


def test_a_bot_that_resigns_or_a_full_board_is_an_error() -> None:
    assert answers_to(engine(Quitter()), "START 15", "BEGIN")[1] == "ERROR the bot resigns"
    machine = engine()
    stones = [f"{column},{row},{1 + (column + row) % 2}" for row in range(5) for column in range(5)]
    assert answers_to(machine, "START 5", "BOARD", *stones, "DONE")[-1] == "ERROR the board is full"
