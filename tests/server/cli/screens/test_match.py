"""The state of a table: lots, turns, taking back, the score."""

import pytest

from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import DRAWN, VOID, Outcome, Result, Termination, lost, parse_variant, won
from noughts_server.cli.screens.play.match import ActionRefused, Match, Participant
from noughts_server.cli.screens.play.status_line import score_line, status
from tests.support.forbidding import centre_later

TICTACTOE = parse_variant("tictactoe")
YOU, BOT = Participant("You", person=True), Participant("pascal", person=False)
BOTH = (Participant("Person A", person=True), Participant("Person B", person=True))


def table(**options: object) -> Match:
    return Match(TICTACTOE, (YOU, BOT), **options)  # type: ignore[arg-type]


def play(at: Match, *cells: int) -> None:
    for cell in cells:
        at.play(cell)


def test_lots_follow_from_the_seed_and_give_every_combination() -> None:
    drawn = {(each.first, each.marks[0]) for each in (table(seed=seed) for seed in range(64))}
    assert drawn == {(0, "X"), (0, "O"), (1, "X"), (1, "O")}
    assert table(seed=5).marks == table(seed=5).marks


def test_a_choice_of_one_lot_does_not_change_the_other() -> None:
    for seed in range(16):
        assert table(seed=seed, mark="X").first == table(seed=seed).first
        assert table(seed=seed, always_first=1).marks == table(seed=seed).marks


def test_by_lot_the_players_begin_in_turn() -> None:
    at = table(seed=1)
    first = at.first
    play(at, 0, 3, 1, 4, 2)
    at.begin()
    assert at.first == 1 - first


def test_who_is_chosen_to_begin_begins_every_game() -> None:
    at = table(always_first=1)
    play(at, 0, 3, 1, 4, 2)
    at.begin()
    assert at.first == 1


def test_a_game_that_was_broken_off_is_begun_again_and_counts_nowhere() -> None:
    at = table(seed=1)
    first, seed = at.first, at.game_seed
    play(at, 0, 3)
    at.begin()
    assert (at.first, at.game_seed, at.games) == (first, seed, [])


def test_marks_are_for_the_eye_and_records_say_who_began() -> None:
    at = table(always_first=1, mark="X")
    play(at, 0, 3, 1, 4, 2)
    assert at.stones == {0: "O", 3: "X", 1: "O", 4: "X", 2: "O"}
    assert at.ended is not None
    assert (at.ended.outcome, at.ended.winner) == (won(0), 1)
    assert at.winning == {0, 1, 2}


def test_two_lines_at_once_are_both_shown() -> None:
    at = table(always_first=0)
    play(at, 0, 1, 2, 3, 8, 5, 6, 7, 4)
    assert at.winning == {0, 2, 4, 6, 8}


def test_a_full_board_without_a_line_is_a_draw() -> None:
    at = table(always_first=0)
    play(at, 0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert at.ended is not None
    assert (at.ended.outcome, at.ended.winner) == (DRAWN, None)
    assert status(at) == "Nobody wins: the board is full."
    assert not at.winning


def test_a_taken_cell_is_refused_and_changes_nothing() -> None:
    at = table(always_first=0)
    play(at, 4)
    with pytest.raises(ActionRefused, match="b2 is taken"):
        at.play(4)
    assert (at.moves, at.turn) == ([4], 1)


def test_nothing_is_played_after_the_end() -> None:
    at = table(always_first=0)
    play(at, 0, 3, 1, 4, 2)
    with pytest.raises(ActionRefused, match="The game is over"):
        at.play(8)


def test_undo_goes_back_to_the_last_turn_of_a_person() -> None:
    at = table(always_first=0)
    play(at, 4, 0, 8, 1)
    at.undo()
    assert at.moves == [4, 0]
    at.play(8)
    at.undo()
    assert at.moves == [4, 0]
    at.undo()
    assert at.moves == []
    with pytest.raises(ActionRefused, match="nothing to take back"):
        at.undo()


def test_the_bots_first_move_is_never_taken_back() -> None:
    at = table(always_first=1)
    play(at, 4)
    with pytest.raises(ActionRefused):
        at.undo()
    assert at.moves == [4]


def test_between_two_people_undo_takes_back_one_move() -> None:
    at = Match(TICTACTOE, BOTH, always_first=0)
    play(at, 4, 0, 8)
    at.undo()
    assert at.moves == [4, 0]
    assert status(at).startswith("Person A")


def test_undo_of_an_end_takes_its_point_back() -> None:
    at = table(always_first=0)
    play(at, 0, 3, 1, 4, 2)
    assert score_line(at) == "you 1, draws 0, pascal 0"
    at.undo()
    assert score_line(at) == "you 0, draws 0, pascal 0"
    at.play(8)
    assert at.ended is None


def test_void_games_do_not_count() -> None:
    at = table(always_first=0)
    at.end(VOID)
    assert status(at) == "The game was cancelled and does not count."
    assert (at.score.wins, at.score.draws, at.score.losses) == (0, 0, 0)


@pytest.mark.parametrize(
    "outcome, words",
    [
        (lost(0, Termination.TIMEOUT), "pascal wins: you were too slow."),
        (lost(1, Termination.TIMEOUT), "You win: pascal was too slow."),
        (lost(1, Termination.RESIGNED), "You win: pascal resigned."),
        (lost(0, Termination.RESIGNED), "pascal wins: you resigned."),
        (lost(1, Termination.DISCONNECTED), "You win: pascal disconnected."),
        (lost(1, Termination.ILLEGAL_MOVE), "You win: pascal made an illegal move."),
        (Outcome(Result.DRAW, Termination.ADJUDICATED), "Nobody wins (adjudicated)."),
    ],
)
def test_the_status_says_how_a_game_ended(outcome: Outcome, words: str) -> None:
    at = table(always_first=0)
    at.end(outcome)
    assert status(at) == words


def test_the_bot_is_asked_with_the_seed_of_its_side_so_that_games_repeat() -> None:
    def game() -> list[int]:
        at = table(seed=11, always_first=1)
        bot = make_bot(parse_spec("random"), TICTACTOE)
        while at.ended is None:
            at.play(int(bot.choose(at.position)) if at.turn == 1 else at.position.free[0])  # type: ignore[arg-type]
        return at.moves

    assert game() == game()


def test_what_is_forbidden_is_refused_with_its_kind_and_changes_nothing() -> None:
    at = Match(centre_later(), BOTH, always_first=0)
    with pytest.raises(ActionRefused, match=r"b2 is forbidden \(centre\)"):
        at.play(4)
    play(at, 0, 8, 4)
    assert at.moves == [0, 8, 4]


def test_what_is_forbidden_is_shown_to_the_person_whose_turn_it_is() -> None:
    at = Match(centre_later(), BOTH, always_first=0)
    assert at.forbidden == {4}
    play(at, 0)
    assert at.forbidden == frozenset()
    assert Match(centre_later(), (BOT, YOU), always_first=0).forbidden == frozenset()
    assert table(always_first=0).forbidden == frozenset()
