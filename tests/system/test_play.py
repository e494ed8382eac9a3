"""`noughts play` in a real terminal: tests press keys and read the screen."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.processes import environment, run_noughts

from .terminal import CTRL_C, DOWN, ENTER, LEFT_ALTERNATE_SCREEN, RIGHT, Terminal, program_on_terminal, terminal

GREEN, RED = "1e7f3a", "b3261e"


def press_keys(screen: Terminal, keys: str, *replies: str) -> None:
    """Press these keys; before the next one, wait for the bot's reply on the board."""
    for key, reply in zip(keys, [*replies, ""], strict=False):
        screen.press(key)
        if reply:
            screen.until(f"last: {reply} (first-free)")


def winning_colours(screen: Terminal) -> set[str]:
    """Wait for the mark of the winning line, and return the background colours of its signs."""
    screen.until(lambda shown: shown.count("*") == 6)
    return {character.bg for _, _, character in screen.characters() if character.data == "*"}


def score_is(name: str, games: int) -> Callable[[str], bool]:
    """Return a condition: the score of this player is `games`."""
    return lambda shown: re.search(rf"{name} +{games}\n", shown) is not None


def colours(screen: Terminal) -> set[str]:
    return {colour for _, _, character in screen.characters() for colour in (character.fg, character.bg)}


def test_a_person_wins_on_the_keypad_and_the_line_is_green() -> None:
    with terminal("play first-free --first me --mark X") as screen:
        screen.until("Your turn (X).")
        press_keys(screen, "591", "a3", "b3")
        screen.until("You win: the line is complete.")
        assert winning_colours(screen) == {GREEN}
        screen.until(score_is("you", 1))


def test_a_person_loses_and_the_line_is_red() -> None:
    with terminal("play first-free --first opponent --mark X") as screen:
        screen.until("last: a3 (first-free)")
        press_keys(screen, "32", "b3")
        screen.until("first-free wins: the line is complete.")
        assert winning_colours(screen) == {RED}


def test_a_full_board_is_a_draw_on_the_screen() -> None:
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        press_keys(screen, "84513", "a3", "c3", "c2", "b1")
        screen.until("Nobody wins: the board is full.")
        assert "*" not in screen.until(score_is("draws", 1))


def test_a_taken_cell_is_refused_and_the_game_continues() -> None:
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        press_keys(screen, "5", "a3")
        screen.press("7")
        screen.until("a3 is taken: choose a free cell.")
        assert "last: a3 (first-free)" in screen.until("Your turn")
        press_keys(screen, "9", "b3")


def test_arrows_move_the_cursor_and_enter_plays_there() -> None:
    with terminal("play first-free --first me") as screen:
        screen.until("cursor: b2")
        screen.press(RIGHT)
        screen.until("cursor: c2")
        screen.press(DOWN)
        screen.until("cursor: c1")
        screen.press(ENTER)
        screen.until("last: a3 (first-free)")
        screen.press("u")
        screen.until_without("last:")
        screen.press(" ")
        screen.until("last: a3 (first-free)")


def test_undo_returns_to_the_persons_turn_and_its_score() -> None:
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        screen.press("u")
        screen.until("There is nothing to take back.")
        press_keys(screen, "591", "a3", "b3")
        screen.until("You win")
        screen.until(score_is("you", 1))
        screen.press("u")
        screen.until("Your turn")
        screen.until(score_is("you", 0))
        screen.press("u")
        screen.until("last: a3 (first-free)")


def test_a_new_game_is_one_key_and_the_players_begin_in_turn() -> None:
    with terminal("play first-free --seed 2") as screen:
        first = screen.until("cursor: b2").split("\n")[0]
        if "first-free" in first:
            screen.until("last: a3 (first-free)")
            press_keys(screen, "32", "b3")
        else:
            press_keys(screen, "591", "a3", "b3")
        screen.until("the line is complete")
        screen.press("n")
        second = screen.until("game 2").split("\n")[0]
        assert ("first-free" in first) != ("first-free" in second)


@pytest.mark.parametrize("key", ["q", CTRL_C])
def test_leaving_restores_the_terminal_and_prints_the_score(key: str) -> None:
    with terminal("play first-free --first me --seed 7") as screen:
        screen.until("Your turn")
        press_keys(screen, "591", "a3", "b3")
        screen.until("You win")
        screen.press(key)
        assert screen.wait_for_exit() == 0
        assert screen.is_restored
        printed = screen.written.rpartition(LEFT_ALTERNATE_SCREEN)[2].decode()
        assert "tictactoe, 1 game: you 1, draws 0, first-free 0; seed 7\r\n" in printed


def test_a_signal_to_stop_restores_the_terminal() -> None:
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        screen.process.terminate()
        assert screen.wait_for_exit() == 0
        assert screen.is_restored


def test_closing_the_terminal_ends_the_program() -> None:
    # The terminal does not control the program's session, so the kernel sends no SIGHUP.
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        assert screen.hang_up() != 0


FAILING_PROGRAM = """
from noughts_bots.sdk.bot import Bot
from noughts_referee.rules import parse_variant
from noughts_server.cli.screens.application import run_mode
from noughts_server.cli.screens.play.mode import PlayMode
from noughts_server.cli.screens.play.controllers import BotGameController
from noughts_server.cli.screens.play.match import Match, Participant

class Failing(Bot):
    def choose(self, position):
        raise ZeroDivisionError("there is nothing to divide")

players = (Participant("You", person=True), Participant("failing", person=False))
run_mode(PlayMode(BotGameController(Match(parse_variant("tictactoe"), players, always_first=0), Failing())))
"""


def test_a_failure_restores_the_terminal_before_its_traceback() -> None:
    with program_on_terminal((sys.executable, "-c", FAILING_PROGRAM)) as screen:
        screen.until("Your turn")
        screen.press("5")
        assert screen.wait_for_exit() == 1
        assert screen.is_restored
        assert b"there is nothing to divide" in screen.written.rpartition(LEFT_ALTERNATE_SCREEN)[2]


def test_a_click_plays_a_cell_or_presses_a_button_at_the_bottom() -> None:
    with terminal("play first-free --first me --mark X") as screen:
        screen.until("Your turn")
        lines = screen.text.split("\n")
        row = next(number for number, line in enumerate(lines) if line.lstrip().startswith("1 "))
        screen.click(lines[row].index("│") + 12, row)
        screen.until("last: a3 (first-free)")
        screen.until(lambda shown: "\\ /" in shown.split("\n")[row - 1])
        bottom = screen.text.split("\n")[-1]
        screen.click(bottom.index("undo"), len(lines) - 1)
        screen.until_without("last:")


def test_help_covers_the_board_until_a_key_is_pressed() -> None:
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        screen.press("?")
        screen.until("type 1 to 9 as on the keypad")
        screen.press("5")
        assert "last:" not in screen.until_without("keypad")


def test_a_long_thought_is_shown_and_the_user_can_leave() -> None:
    with terminal("play minimax:depth=9 --variant mnk:6,6,5 --first opponent") as screen:
        screen.until(lambda shown: re.search(r"is thinking\. \d+ s", shown) is not None)
        screen.press("5")
        screen.press("q")
        assert screen.wait_for_exit() == 0
        assert screen.is_restored


def test_two_people_play_at_one_keyboard() -> None:
    with terminal("play person --first me --mark O") as screen:
        screen.until("Person A (O) to move.")
        for key, next_person in zip("57841", ("B (X)", "A (O)", "B (X)", "A (O)"), strict=False):
            screen.press(key)
            screen.until(f"Person {next_person} to move.")
        screen.press("2")
        screen.until("Person A wins: the line is complete.")
        assert winning_colours(screen) == {GREEN}
        screen.press("u")
        screen.until("Person A (O) to move.")


def test_coordinates_are_typed_on_a_large_board() -> None:
    with terminal("play person --variant mnk:15,15,5 --first me") as screen:
        screen.until("a b c d e f g h i j k l m n o")
        screen.press("h8")
        screen.until("last: h8 (Person A)")
        screen.press("a1")
        screen.until("a1_   Enter: play there")
        screen.press("5")
        screen.until("last: a15 (Person B)")
        screen.press("n")
        screen.until("n_   Enter: new game")
        screen.press("1" + ENTER)
        screen.until("last: n1 (Person A)")
        screen.press("n" + ENTER)
        screen.until_without("last:")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_every_cell_of_a_board_of_twenty_is_on_the_screen(size: tuple[int, int]) -> None:
    with terminal("play person --variant mnk:20,20,5", size=size) as screen:
        rows = [rf"^ *{row} [ .│\[]" for row in range(1, 21)]
        screen.until(lambda text: all(re.search(part, text, re.MULTILINE) for part in (*rows, r" q +r +s +t\b")))


def test_a_board_larger_than_the_screen_follows_the_cursor() -> None:
    with terminal("play person --variant mnk:30,30,5 --first me") as screen:
        screen.until("cursor: o16")
        screen.press("a1" + ENTER)
        screen.until(lambda shown: re.search(r"^ *1 .[OX]", shown, re.MULTILINE) is not None)
        screen.press("ad30" + ENTER)
        screen.until(lambda shown: " ac ad" in shown or "acad" in shown)


@pytest.mark.parametrize("size", [(59, 24), (44, 24)])
def test_on_a_narrow_screen_the_panel_is_below_the_board(size: tuple[int, int]) -> None:
    with terminal("play first-free --variant gomoku --first me --mark O", size=size) as screen:
        rows = [rf"^ *{row}(  \.| \[\.| \.).*[.\]] *$" for row in range(1, 16)]
        screen.until(lambda text: all(re.search(part, text, re.MULTILINE) for part in ("> O You 0", *rows)))
        screen.press(" ")
        screen.until("cursor: h8  last: a15 (first-free)")
        screen.until("moves: h8 a15\n")


@pytest.mark.parametrize("size, moves", [((80, 24), 4), ((120, 40), 8)])
def test_the_last_moves_are_listed_next_to_the_board(size: tuple[int, int], moves: int) -> None:
    with terminal("play person --variant gomoku --first me", size=size) as screen:
        screen.until("Person A")
        # The persons take columns a and c, and exchange them after four rows, so that nobody gets five in a row.
        for row in range(1, 9):
            for column in "ac" if row < 5 else "ca":
                screen.press(f"{column}{row}" + ("" if row > 1 else ENTER))
                screen.until(f"last: {column}{row} ")
        text = screen.until("  8. c8  a8")
        assert len(re.findall(r"\d\. [ac]\d  [ac]\d\b", text)) >= moves


def test_a_hint_moves_the_cursor_to_a_reference_bots_move() -> None:
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        press_keys(screen, "5", "a3")
        screen.press("4")
        screen.until("last: b3 (first-free)")
        screen.press("h")
        # c2 completes the line.
        screen.until("Hint from minimax: c2 (score ")
        screen.until("cursor: c2")
        screen.press(ENTER)
        screen.until("You win: the line is complete.")
        screen.press("h")
        screen.until("The game is over: press n for a new one.")


def test_the_score_of_a_bots_last_move_is_shown_if_it_has_one() -> None:
    with terminal("play nextstep --first me --seed 1") as screen:
        screen.until("Your turn")
        screen.press("5")
        screen.until(lambda shown: re.search(r"score of [abc][123]: -?\d", shown) is not None)
        screen.press("u")
        screen.until_without("score of")
    with terminal("play first-free --first me") as screen:
        screen.until("Your turn")
        press_keys(screen, "5", "a3")
        assert "score of" not in screen.text


def test_no_color_disables_colours() -> None:
    with terminal("play first-free --first me", env={"NO_COLOR": "1"}) as screen:
        screen.until("Your turn")
        press_keys(screen, "591", "a3", "b3")
        screen.until(lambda shown: "You win" in shown and shown.count("*") == 6)
        grey = {"default"} | {colour for colour in colours(screen) if colour[0:2] == colour[2:4] == colour[4:6]}
        assert colours(screen) <= grey


def test_games_and_result_can_be_saved(tmp_path: Path) -> None:
    file = tmp_path / "games.jsonl"
    with terminal(f"play first-free --first me --seed 3 --format json -o {file}") as screen:
        screen.until("Your turn")
        press_keys(screen, "591", "a3", "b3")
        screen.until("You win")
        screen.press("n")
        screen.until("game 2")
        screen.press("q")
        assert screen.wait_for_exit() == 0
        printed = screen.written.rpartition(LEFT_ALTERNATE_SCREEN)[2].decode()
        document = json.loads(printed[printed.index("{") :])
    assert document == {
        "games": 1,
        "you": {"wins": 1, "draws": 0, "losses": 0},
        "opponent": "first-free",
        "variant": "tictactoe",
        "seed": 3,
        "seed_text": "3",
    }
    (game,) = [json.loads(line) for line in file.read_text().splitlines()]
    assert (game["first"], game["second"], game["moves"]) == ("you", "first-free", [4, 0, 2, 1, 6])
    assert (game["result"], game["termination"]) == ("1-0", "line")


def test_a_learner_learns_from_people_and_its_long_name_fits(tmp_path: Path) -> None:
    file = tmp_path / "mine.table"
    with terminal(f"play learner:file={file},learn=true --first me --seed 1") as screen:
        text = screen.until("Your turn")
        assert re.search(r"learner:file=\S+\N{HORIZONTAL ELLIPSIS}$", text, re.MULTILINE)
        assert "learn=true" not in text
        for key, reply in (("5", "last: c2"), ("3", "last: b3"), ("7", "You win")):
            screen.press(key)
            screen.until(reply)
        screen.press("q")
        assert screen.wait_for_exit() == 0
    assert "\ngames 1\n" in file.read_text()


def test_play_without_a_terminal_is_an_error_with_a_fix() -> None:
    errors = run_noughts(["play", "random"], environment(), code=1).stderr
    assert "needs a terminal" in errors
    assert "noughts bot ask" in errors


def test_bot_ask_on_a_terminal_answers_each_position_at_once() -> None:
    with terminal("bot ask nextstep", env={}, size=(100, 30)) as screen:
        screen.until("Press Ctrl-D")
        screen.press("nonsense" + ENTER)
        screen.until("expected 9 cells")
        screen.press("X...O...X O" + ENTER)
        assert re.search(r"X\.\.\.O\.\.\.X O +a2 +b3 a2 c2 b1 +b3:24 c3:11", screen.until("b1:24"))
        screen.press("XO......." + ENTER)
        screen.until("XO....... X")
        screen.press("\x04")
        assert screen.wait_for_exit() == 0
