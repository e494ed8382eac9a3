"""A trained learner cannot be beaten, and its file survives crashes of its process."""

import os
import random
import signal
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from noughts_bots.reference.learner import Learner, load_learnt
from noughts_bots.reference.learning import learn
from noughts_bots.reference.locked_file import LockedFile
from noughts_bots.reference.table import Table
from noughts_bots.reference.table_file import TableFile, load, save
from noughts_bots.reference.training import Trainer, can_lose, chances
from noughts_bots.sdk.bot import GameEnd, GameInfo
from noughts_bots.sdk.errors import BotSpecError, TableError, VariantRefused
from noughts_referee.rules import Position, Result, Termination, Variant, parse_variant
from tests.support.reference_bots import bot_of

from .oracle import learner as oracle
from .oracle.boards import reachable_questions

TICTACTOE = parse_variant("tictactoe")
DIAGONAL = (0, 1, 4, 2, 8)
"""X completes the diagonal at its third stone."""


def position_of(text: str) -> Position:
    return Position.parse(TICTACTOE, text)


def train(file: Path, games: int, *against: str, seed: int = 1, variant: Variant = TICTACTOE) -> Learner:
    """Return a learner that has trained as `noughts bot learn` does, but has not saved its table."""
    learner = Learner(file, learn=True)
    opponents = [None if spec == "self" else bot_of(spec, variant) for spec in against]
    trainer = Trainer(learner, variant, opponents, seed)
    for _ in range(games):
        trainer.play()
    return learner


@cache
def trained_learner() -> Learner:
    """Return a learner trained as in the documentation, which takes some seconds."""
    return train(Path("/nowhere/learnt.table"), 60_000, "random")


# Results of training.


@pytest.mark.at_length
@pytest.mark.long
@pytest.mark.parametrize("side", [0, 1])
def test_trained_learner_has_no_losing_line_against_any_opponent(side: int) -> None:
    assert not can_lose(trained_learner(), side, TICTACTOE)


@pytest.mark.long
def test_a_trained_learner_beats_random_more_than_three_stage_does() -> None:
    three_stage, opponent = bot_of("three-stage"), bot_of("random")
    learnt, other = chances(trained_learner(), opponent, TICTACTOE), chances(three_stage, opponent, TICTACTOE)
    assert learnt.wins > other.wins
    assert learnt.points > other.points
    learnt, other = chances(opponent, trained_learner(), TICTACTOE), chances(opponent, three_stage, TICTACTOE)
    # Here `random` moves first, and the chances are its own.
    assert learnt.losses > other.losses
    assert learnt.points < other.points


def test_an_untrained_learner_loses_and_plays_at_random(tmp_path: Path) -> None:
    new = Learner(tmp_path / "new.table", learn=True)
    assert can_lose(new, 0, TICTACTOE)
    assert can_lose(new, 1, TICTACTOE)
    assert chances(new, bot_of("random"), TICTACTOE) == chances(bot_of("random"), bot_of("random"), TICTACTOE)
    assert set(new.consider(position_of("X........ O")).scores.values()) == {1500}


def test_exact_chances_of_random_against_random() -> None:
    exact_chances = chances(bot_of("random"), bot_of("random"), TICTACTOE)
    assert [str(chance) for chance in exact_chances] == ["737/1260", "8/63", "121/420"]


def test_three_stage_can_be_beaten_and_nextstep_cannot() -> None:
    assert [can_lose(bot_of(spec), 1, TICTACTOE) for spec in ("three-stage", "nextstep:depth=6")] == [True, False]


def test_learner_learns_other_boards(tmp_path: Path) -> None:
    variant = parse_variant("mnk:3,2,2")
    learner = train(tmp_path / "small", 3_000, "self", variant=variant)
    # On 3x2 cells, two in a row win: the first mover can always do so with its second stone.
    assert chances(learner, bot_of("random", variant), variant).wins == 1


# Repeatable training.


def test_training_gives_the_same_bytes_only_for_the_same_seed(tmp_path: Path) -> None:
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        learner = train(tmp_path / name, 500, "random", "self", "pascal:level=0", seed=seed)
        learner.save()
        contents.append((tmp_path / name).read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_training_in_two_parts_leads_to_the_same_bytes_as_in_one(tmp_path: Path) -> None:
    train(tmp_path / "whole", 700, "random", "self").save()
    train(tmp_path / "parts", 301, "random", "self").save()
    train(tmp_path / "parts", 399, "random", "self").save()
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "parts").read_bytes()


# Corrections of the table: see docs/reference/tables.md.


@pytest.mark.long
def test_each_game_corrects_the_table_as_the_oracle_does() -> None:
    rng = random.Random(7)
    table, article_learner = TableFile(TICTACTOE, games=0), oracle.Learner()
    bot = Learner(Path("/nowhere/it"), learn=True)
    bot.table = table
    for number in range(3_000):
        position, moves = Position(TICTACTOE), []
        while position.free and not TICTACTOE.has_line(position.opponent):
            moves.append(rng.choice(position.free))
            position.play(moves[-1])
        side, begin = rng.randrange(2), rng.randrange(4)
        counted = range(begin + (begin + side) % 2, len(moves), 2)
        bot.correct(TICTACTOE, tuple(moves), counted)
        article_learner.learn(moves, set(counted))
        if number % 300 == 0 or number == 2_999:
            for board, me in reachable_questions():
                evaluation = bot.consider(position_of(f"{board} {me}"))
                expected = article_learner.consider(board, me)
                assert (evaluation.candidates, evaluation.scores) == (expected.candidates, expected.scores), board
    assert table.games == 3_000


def test_move_that_allows_a_win_is_rated_0_and_other_moves_not() -> None:
    table = TableFile(TICTACTOE, games=0)
    learn(table, DIAGONAL, range(1, 5, 2))
    rating = {ply: table.rows[key].ratings[cell] for ply, (key, cell) in enumerate(_moves_by_position(DIAGONAL))}
    assert rating[4] == 2_500  # X wins; no results are counted for X
    assert rating[3] == 0  # O allowed the win and scored 0
    assert rating[2] == 1_500  # O had other replies
    assert rating[1] == 1_000
    assert rating[0] == 1_500


def _moves_by_position(moves: tuple[int, ...]) -> list[tuple[tuple[int, int], int]]:
    position, moves_by_position = Position(TICTACTOE), []
    for cell in moves:
        moves_by_position.append(((position.own, position.opponent), cell))
        position.play(cell)
    return moves_by_position


def test_at_1024_games_the_counts_of_a_move_are_halved() -> None:
    table = TableFile(TICTACTOE, games=0)
    for _ in range(1_023):
        learn(table, DIAGONAL, range(1, 5, 2))
    row = table.rows[0, 1]
    assert (row.visits[1], row.points[1]) == (1_023, 0)
    learn(table, DIAGONAL, range(1, 5, 2))
    assert (row.visits[1], row.points[1]) == (512, 0)


# Games on a server.


def game(number: int, side: int = 0) -> GameInfo:
    return GameInfo(f"tournaments/cup/games/{number}", TICTACTOE, side, "rival")


def game_end(termination: Termination = Termination.LINE) -> GameEnd:
    return GameEnd(Result.FIRST_WINS, termination, DIAGONAL)


def test_learner_learns_from_a_game_it_played_and_saves_when_it_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "it.table"
    bot = Learner(file, learn=True)
    bot.start(game(1))
    before = bot.busy
    bot.end(game(1), game_end())
    assert (before, bot.busy) == (True, False)
    bot.close()
    table = load_learnt(file)
    assert table.games == 1
    # Results count for its own three moves only.
    assert [table.rows[key].visits[cell] for key, cell in _moves_by_position(DIAGONAL)] == [1, 0, 1, 0, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it.table"]


def test_bot_that_reconnects_counts_its_moves_from_the_first_start(tmp_path: Path) -> None:
    bot = Learner(tmp_path / "it.table", learn=True)
    for before in (1, 3):
        bot.start(replace(game(1), moves_before=before))
    bot.end(game(1), game_end())
    assert bot.table is not None
    assert [bot.table.rows[key].visits[cell] for key, cell in _moves_by_position(DIAGONAL)] == [0, 0, 1, 0, 1]


def test_frozen_learner_learns_nothing(tmp_path: Path) -> None:
    file = tmp_path / "it.table"
    train(file, 50, "random").save()
    before = file.read_bytes()
    bot = Learner(file)
    bot.start(game(1))
    bot.end(game(1), game_end())
    bot.close()
    assert file.read_bytes() == before
    assert bot.table == load(file)


@pytest.mark.parametrize("termination", [Termination.TIMEOUT, Termination.RESIGNED, Termination.VOID])
def test_learner_does_not_learn_from_a_forfeited_game(tmp_path: Path, termination: Termination) -> None:
    bot = Learner(tmp_path / "it.table", learn=True)
    bot.end(game(1), game_end(termination))
    bot.close()
    assert bot.games == 0
    assert not (tmp_path / "it.table").exists()


def test_trained_file_can_be_played_as_a_table(tmp_path: Path) -> None:
    file = tmp_path / "it.table"
    learner = train(file, 2_000, "random")
    learner.save()
    table, frozen = Table(file), Learner(file)
    for board, me in reachable_questions():
        position = position_of(f"{board} {me}")
        assert table.choose(position) == frozen.choose(position) == learner.choose(position)


def test_frozen_learner_needs_a_file_and_one_that_learns_does_not(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"none: got No such file .* write one with .*`noughts bot learn -o FILE`"):
        bot_of(f"learner:file={tmp_path / 'none'}")
    bot = bot_of(f"learner:file={tmp_path / 'none'},learn=true")
    assert bot.choose(Position(TICTACTOE)) in range(9)
    assert list(tmp_path.iterdir()) == []


def test_learner_refuses_a_table_that_no_learner_wrote_and_other_variants(tmp_path: Path) -> None:
    plain, small = tmp_path / "plain", tmp_path / "small"
    save(plain, TableFile(TICTACTOE))
    with pytest.raises(TableError, match="got a table without `games` and visits"):
        Learner(plain)
    train(small, 5, "random", variant=parse_variant("mnk:3,2,2")).save()
    with pytest.raises(VariantRefused, match="got variant tictactoe, expected mnk:3,2,2"):
        bot_of(f"learner:file={small}")
    with pytest.raises(VariantRefused, match="expected a board of at most 12 cells"):
        bot_of(f"learner:file={tmp_path / 'new'},learn=true", parse_variant("mnk:4,4,4"))


def test_training_refuses_an_opponent_that_learns_itself(tmp_path: Path) -> None:
    other = Learner(tmp_path / "other", learn=True)
    with pytest.raises(BotSpecError, match=r"^--against learner: got a choice that depends on what it has learnt"):
        Trainer(Learner(tmp_path / "it", learn=True), TICTACTOE, [other], 1)


# The file.


@pytest.mark.parametrize("damage", ["cut", "flipped", "line gone", "more", "empty"])
def test_damaged_file_is_refused_and_left_as_it_is(tmp_path: Path, damage: str) -> None:
    file = tmp_path / "it.table"
    train(file, 50, "random").save()
    content = file.read_bytes()
    lines = content.splitlines(keepends=True)
    middle = content.index(b"500", len(content) // 2)
    file.write_bytes(
        {
            "cut": content[: len(content) // 2],
            "flipped": content[:middle] + b"4" + content[middle + 1 :],
            "line gone": b"".join(lines[:10] + lines[11:]),
            "more": content + b"X...O...X O - 1 2 3 - 5 6 7 -\n",
            "empty": b"",
        }[damage]
    )
    damaged = file.read_bytes()
    for learns in (False, True):
        with pytest.raises(TableError, match=r"it\.table, line \d+: got .+, expected .+; ."):
            Learner(file, learn=learns)
    assert file.read_bytes() == damaged


def test_two_learners_cannot_write_one_file(tmp_path: Path) -> None:
    file = tmp_path / "it.table"
    one, two = Learner(file, learn=True), Learner(file, learn=True)
    one.prepare()
    with pytest.raises(TableError, match=r"it\.table: got a file that another process is writing, .*its own file"):
        two.prepare()
    one.correct(TICTACTOE, DIAGONAL, range(0))
    one.close()
    two.prepare()
    assert two.games == 1  # the table of the first learner
    two.close()
    assert [path.name for path in tmp_path.iterdir()] == ["it.table"]


def test_a_folder_or_pipe_is_not_replaced_by_a_table(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path):
        with pytest.raises(TableError, match="got a folder, a device or similar, expected a file"):
            LockedFile(path)
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.processes
def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    file = tmp_path / "it.table"
    program = "import sys, time; from pathlib import Path; from noughts_bots.reference.locked_file import LockedFile\n"
    program += "held = LockedFile(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(TableError):
            LockedFile(file)
        process.kill()
        process.wait()
    assert (tmp_path / ".it.table.lock").exists()
    LockedFile(file).release()


SAVING = """
import sys
from pathlib import Path
from noughts_bots.reference.learner import Learner
from noughts_bots.reference.random_ import Random
from noughts_bots.reference.training import Trainer
from noughts_referee.rules import parse_variant

learner = Learner(Path(sys.argv[1]), learn=True)
learner.prepare()
trainer = Trainer(learner, parse_variant("tictactoe"), [Random()], 1)
while True:
    trainer.play()
    learner.save()
    print(learner.games, flush=True)
"""


@pytest.mark.processes
def test_file_is_whole_after_a_kill_at_any_moment(tmp_path: Path) -> None:
    file = tmp_path / "it.table"
    at_least = 0
    for attempt in range(5):
        with subprocess.Popen([sys.executable, "-c", SAVING, str(file)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            # The process saves without a pause, so the kill falls into the save after these.
            for _ in range(3 + 7 * attempt):
                at_least = int(process.stdout.readline())
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        table = load_learnt(file)
        assert table.games is not None
        assert table.games >= at_least


def test_save_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "it.table"
    learner = train(file, 20, "random")
    learner.save()
    before = file.read_bytes()
    (tmp_path / ".it.table.tmp").mkdir()  # the name of its temporary file
    learner.correct(TICTACTOE, DIAGONAL, range(0))
    with pytest.raises(OSError, match=r"it\.table") as raised:
        learner.save()
    assert raised.value.filename == str(file)
    assert file.read_bytes() == before
