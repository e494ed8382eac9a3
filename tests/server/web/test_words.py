"""Names of variants and tournaments on the pages."""

import pytest

from noughts_proto.v1.tournaments_pb2 import Standing
from noughts_server.web.upstream import Failure
from noughts_server.web.words import explained, fault, game, how_ended, leading, played_in, player, reason, titled


@pytest.mark.parametrize(
    "variant, words",
    [
        ("tictactoe", "Noughts and crosses"),
        ("connect4", "Connect Four"),
        ("mnk:30,30,5", "30 × 30, 5 in a row"),
        ("gomoku:exact:20", "Gomoku, exactly five in a row, 20 × 20"),
        ("gomoku20+swap2", "Gomoku, 20 × 20, swap2 opening"),
        ("mnk:19,19,5+pro", "19 × 19, 5 in a row, pro opening"),
        ("reversi", "reversi"),
    ],
)
def test_variants_have_plain_names(variant: str, words: str) -> None:
    assert game(variant) == words


@pytest.mark.parametrize(
    "title, words",
    [
        ("", "spring"),
        ("Spring - and summer", "Spring - and summer"),
        ("site-guest-12 - site-minimax-13", "Guest – minimax"),
        ("site-guest-1 - site-second-guest-2", "Guest – Second guest"),
        ("site-guest-1 - ada-2", "Guest – ada-2"),
        ("ada-guest-1 - bob-2", "ada-guest-1 - bob-2"),
    ],
)
def test_games_in_the_browser_are_called_by_their_players(title: str, words: str) -> None:
    document = {"name": "tournaments/spring", "title": title, "owner": "site", "challenge": False}
    assert titled(document) == words


def test_title_of_a_challenge_has_a_dash_between_the_bots() -> None:
    document = {"name": "tournaments/challenge-1", "title": "my-bot - rival", "owner": "ada", "challenge": True}
    assert titled(document) == "my-bot – rival"


@pytest.mark.parametrize(
    "label, words",
    [
        ("site-guest-12", "Guest"),
        ("site-second-guest-12", "Second guest"),
        ("site-minimax-13", "minimax"),
        ("ada-2", "ada-2"),
    ],
)
def test_winners_of_games_in_the_browser_are_named_as_in_its_title(label: str, words: str) -> None:
    game = {"name": "tournaments/spring", "title": "site-guest-12 - site-minimax-13", "owner": "site"}
    assert player(label, game) == words
    for title in ("Spring", ""):
        assert player("site-guest-12", {**game, "title": title}) == "site-guest-12"


@pytest.mark.parametrize(
    "termination, moves, words",
    [("adjudicated", [], "walkover"), ("adjudicated", [4], "adjudicated"), ("timeout", [4], "on time")],
)
def test_games_that_nobody_had_to_play_are_walkovers(termination: str, moves: list[int], words: str) -> None:
    assert how_ended({"result": "1-0", "termination": termination, "moves": moves}) == words


@pytest.mark.parametrize(
    "result, termination, fault, words",
    [
        ("1-0", "timeout", "took 3 s", "bob ran out of time"),
        ("0-1", "resigned", "", "ada resigned"),
        ("0-1", "resigned", "resigned: ValueError", "ada's program failed"),
        ("1/2-1/2", "board_full", "", "board full"),
        ("*", "crashed", "", "void"),
    ],
)
def test_sentences_about_results_name_the_loser(result: str, termination: str, fault: str, words: str) -> None:
    ended = {"result": result, "termination": termination, "fault": fault, "moves": [4]}
    assert reason({**ended, "first": "ada", "second": "bob"}) == words


def test_a_game_that_both_players_forfeited_names_both() -> None:
    game = {"result": "1/2-1/2", "termination": "adjudicated", "fault": "was withdrawn", "moves": []}
    assert fault({**game, "first": "ada", "second": "bob"}) == "each player was withdrawn"


@pytest.mark.parametrize(
    "title, words", [("", "spring"), ("Spring cup", "Spring cup"), ("bob - ada", "Match"), ("ada - bob", "Match")]
)
def test_games_are_named_by_the_titles_of_their_tournaments(title: str, words: str) -> None:
    row = {"name": "tournaments/spring/games/3", "tournament_title": title, "first": "ada", "second": "bob"}
    assert played_in(row) == words


@pytest.mark.parametrize(
    "failure, words",
    [
        (Failure(404, "bots/ada does not exist", subject="bots/ada"), "There is no bot “ada”."),
        (
            Failure(404, "tournaments/cup/games/9 does not exist", subject="tournaments/cup/games/9"),
            "There is no game 9 of tournament “cup”.",
        ),
        (
            Failure(409, "tournaments/cup is open, expected running", subject="tournaments/cup"),
            "Tournament “cup” is open, expected running.",
        ),
        (
            Failure(403, "bots/ada/versions/2 is not yours", subject="bots/ada/versions/2"),
            "Version 2 of bot “ada” is not yours.",
        ),
        (Failure(400, "page_token: got 'x', expected one", subject="page_token"), "Page_token: got 'x', expected one."),
        (Failure(403, "ada plays no `renju`."), "ada plays no renju."),
    ],
)
def test_failures_are_sentences_without_names_for_programs(failure: Failure, words: str) -> None:
    assert explained(failure) == words


def test_bots_without_a_result_do_not_lead() -> None:
    rows = [
        Standing(label="ann", rank=1, wins=1),
        Standing(label="bob", rank=1, losses=1),
        Standing(label="cy", rank=2),
    ]
    assert leading(rows) == ["ann", "bob"]
    assert leading([Standing(label="dee", rank=1), Standing(label="eve", rank=1)]) == []
    assert leading([Standing(label="bye", rank=1, points=1)]) == ["bye"]
