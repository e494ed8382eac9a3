"""The games of two players in `noughts play`: who moves first, marks, undo, ends, the score."""

import pytest

from noughts_bots.reference.specs import make_bot, parse_spec
from noughts_referee.rules import DRAWN, VOID, Outcome, Result, Termination, lost, parse_variant, won
from noughts_server.cli.screens.play.match import ActionRefused, Match, Participant
from noughts_server.cli.screens.play.status_line import score_line, status
from tests.support.forbidding import centre_later

TICTACTOE = parse_variant("tictactoe")
YOU, BOT = Participant("You", person=True), Participant("pascal", person=False)
TWO_PERSONS = (Participant("Person A", person=True), Participant("Person B", person=True))


def new_match(**options: object) -> Match:
    return Match(TICTACTOE, (YOU, BOT), **options)  # type: ignore[arg-type]


def play(match: Match, *cells: int) -> None:
    for cell in cells:
        match.play(cell)


def test_first_mover_and_marks_follow_from_the_seed() -> None:
    choices = {(match.first, match.marks[0]) for match in (new_match(seed=seed) for seed in range(64))}
    assert choices == {(0, "X"), (0, "O"), (1, "X"), (1, "O")}
    assert new_match(seed=5).marks == new_match(seed=5).marks


def test_choosing_the_mark_or_the_first_mover_leaves_the_other_random() -> None:
    for seed in range(16):
        assert new_match(seed=seed, mark="X").first == new_match(seed=seed).first
        assert new_match(seed=seed, always_first=1).marks == new_match(seed=seed).marks


def test_players_move_first_in_turn_by_default() -> None:
    match = new_match(seed=1)
    first = match.first
    play(match, 0, 3, 1, 4, 2)
    match.begin()
    assert match.first == 1 - first


def test_the_chosen_first_mover_begins_every_game() -> None:
    match = new_match(always_first=1)
    play(match, 0, 3, 1, 4, 2)
    match.begin()
    assert match.first == 1


def test_a_new_game_before_the_end_repeats_the_seed_and_counts_nothing() -> None:
    match = new_match(seed=1)
    first, seed = match.first, match.game_seed
    play(match, 0, 3)
    match.begin()
    assert (match.first, match.game_seed, match.games) == (first, seed, [])


def test_marks_change_the_drawing_but_not_the_outcome() -> None:
    match = new_match(always_first=1, mark="X")
    play(match, 0, 3, 1, 4, 2)
    assert match.stones == {0: "O", 3: "X", 1: "O", 4: "X", 2: "O"}
    assert match.ended is not None
    assert (match.ended.outcome, match.ended.winner) == (won(0), 1)
    assert match.winning == {0, 1, 2}


def test_two_lines_at_once_are_both_shown() -> None:
    match = new_match(always_first=0)
    play(match, 0, 1, 2, 3, 8, 5, 6, 7, 4)
    assert match.winning == {0, 2, 4, 6, 8}


def test_a_full_board_without_a_line_is_a_draw() -> None:
    match = new_match(always_first=0)
    play(match, 0, 1, 2, 4, 3, 5, 7, 6, 8)
    assert match.ended is not None
    assert (match.ended.outcome, match.ended.winner) == (DRAWN, None)
    assert status(match) == "Nobody wins: the board is full."
    assert not match.winning


def test_an_occupied_cell_is_refused_and_changes_nothing() -> None:
    match = new_match(always_first=0)
    play(match, 4)
    with pytest.raises(ActionRefused, match="b2 is taken"):
        match.play(4)
    assert (match.moves, match.turn) == ([4], 1)


def test_nothing_is_played_after_the_end() -> None:
    match = new_match(always_first=0)
    play(match, 0, 3, 1, 4, 2)
    with pytest.raises(ActionRefused, match="The game is over"):
        match.play(8)


def test_undo_goes_back_to_the_last_turn_of_a_person() -> None:
    match = new_match(always_first=0)
    play(match, 4, 0, 8, 1)
    match.undo()
    assert match.moves == [4, 0]
    match.play(8)
    match.undo()
    assert match.moves == [4, 0]
    match.undo()
    assert match.moves == []
    with pytest.raises(ActionRefused, match="nothing to take back"):
        match.undo()


def test_the_bots_first_move_is_never_taken_back() -> None:
    match = new_match(always_first=1)
    play(match, 4)
    with pytest.raises(ActionRefused):
        match.undo()
    assert match.moves == [4]


def test_between_two_people_undo_takes_back_one_move() -> None:
    match = Match(TICTACTOE, TWO_PERSONS, always_first=0)
    play(match, 4, 0, 8)
    match.undo()
    assert match.moves == [4, 0]
    assert status(match).startswith("Person A")


def test_undo_after_the_end_also_undoes_the_score() -> None:
    match = new_match(always_first=0)
    play(match, 0, 3, 1, 4, 2)
    assert score_line(match) == "you 1, draws 0, pascal 0"
    match.undo()
    assert score_line(match) == "you 0, draws 0, pascal 0"
    match.play(8)
    assert match.ended is None


def test_void_games_do_not_count() -> None:
    match = new_match(always_first=0)
    match.end(VOID)
    assert status(match) == "The game was cancelled and does not count."
    assert (match.score.wins, match.score.draws, match.score.losses) == (0, 0, 0)


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
    match = new_match(always_first=0)
    match.end(outcome)
    assert status(match) == words


def test_games_with_a_bot_repeat_with_the_seed() -> None:
    def game() -> list[int]:
        match = new_match(seed=11, always_first=1)
        bot = make_bot(parse_spec("random"), TICTACTOE)
        while match.ended is None:
            match.play(int(bot.choose(match.position)) if match.turn == 1 else match.position.free[0])  # type: ignore[arg-type]
        return match.moves

    assert game() == game()


def test_a_forbidden_move_is_refused_with_its_kind() -> None:
    match = Match(centre_later(), TWO_PERSONS, always_first=0)
    with pytest.raises(ActionRefused, match=r"b2 is forbidden \(centre\)"):
        match.play(4)
    play(match, 0, 8, 4)
    assert match.moves == [0, 8, 4]


def test_forbidden_cells_are_shown_only_on_the_turn_of_a_person() -> None:
    match = Match(centre_later(), TWO_PERSONS, always_first=0)
    assert match.forbidden == {4}
    play(match, 0)
    assert match.forbidden == frozenset()
    assert Match(centre_later(), (BOT, YOU), always_first=0).forbidden == frozenset()
    assert new_match(always_first=0).forbidden == frozenset()
