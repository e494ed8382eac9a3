"""The home page chooses its games: the featured game, the small games next to it, and the games of the day."""

from typing import Any

import pytest

from noughts_proto.v1 import tournaments_pb2
from noughts_server.core.messages import in_language
from noughts_server.web.home_games import (
    FeaturedGame,
    GameOfTheDay,
    Players,
    TimeLeft,
    biggest_upset,
    closest_clock,
    featured_game,
    games_of_the_day,
    least_share_left,
    longest_game,
    of_different_games,
    quickest_win,
    small_games,
    without_featured,
)
from noughts_server.web.languages import languages

CUP = "tournaments/cup"
BASE: dict[str, Any] = {"bank_us": 10_000_000, "increment_us": 0, "move_us": 0}


def players(**ratings: float | None) -> Players:
    """Return the standings of the cup: bots with ratings, `None` without one."""
    return {CUP: {label: tournaments_pb2.Standing(label=label, rating=rating) for label, rating in ratings.items()}}


def ended(number: int, moves: int = 9, **fields: object) -> dict[str, Any]:
    """Return a game of Ann and Bob that Ann won on the board."""
    usual: dict[str, Any] = {
        "name": f"{CUP}/games/{number}",
        "variant": "tictactoe",
        "first": "ann",
        "second": "bob",
        "state": "ended",
        "moves": list(range(moves)),
        "times_us": [0] * moves,
        "opening_plies": 0,
        "time_factor": None,
        "result": "1-0",
        "termination": "line",
        "first_time": None,
        "second_time": None,
        "end_time": f"2026-03-01T12:00:{number:02d}Z",
    }
    return {**usual, **fields}


def live(number: int, **fields: object) -> dict[str, Any]:
    """Return a live game of Ann and Bob."""
    usual: dict[str, Any] = {
        "name": f"{CUP}/games/{number}",
        "variant": "gomoku",
        "first": "ann",
        "second": "bob",
        "state": "running",
        "first_clock_us": None,
    }
    return {**usual, **fields}


UNRATED = players(ann=None, bob=None)


def test_nothing_is_chosen_without_games() -> None:
    assert featured_game([], [], {}) is None
    assert games_of_the_day([], {}) == []
    assert small_games([], [], None, []) == []


def test_game_that_is_played_is_featured_before_one_that_has_just_ended() -> None:
    just_ended, played = live(1, state="ended", first_clock_us=1), live(2)
    assert featured_game([just_ended, played], [], UNRATED) == FeaturedGame(played, is_live=True)
    assert featured_game([just_ended], [ended(3)], UNRATED) == FeaturedGame(just_ended, is_live=True)


def test_game_with_clocks_is_featured_before_better_players_without_clocks() -> None:
    strong, with_clocks = live(1, first="cy", second="dee"), live(2, first_clock_us=1)
    assert featured_game([strong, with_clocks], [], players(cy=2000, dee=2000)) == FeaturedGame(
        with_clocks, is_live=True
    )


@pytest.mark.parametrize("small", ["tictactoe", "tictactoe3d"])
def test_large_board_is_featured_before_better_players_on_a_small_one(small: str) -> None:
    strong, large = live(1, first="cy", variant=small), live(2, variant="connect4")
    featured = featured_game([strong, large], [], players(ann=1500, bob=1500, cy=1900))
    assert featured == FeaturedGame(large, is_live=True)
    assert not featured.has_small_board
    assert FeaturedGame(strong, is_live=True).has_small_board
    assert not FeaturedGame(live(3, variant="of-a-plugin"), is_live=True).has_small_board


def test_game_of_the_best_players_is_featured() -> None:
    games = [live(1), live(2, first="cy"), live(3)]
    assert featured_game(games, [], players(ann=1500, bob=1500, cy=1600)) == FeaturedGame(games[1], is_live=True)
    # The first one without any rating.
    assert featured_game(games, [], UNRATED) == FeaturedGame(games[0], is_live=True)


def test_longest_game_is_featured_if_no_game_is_live() -> None:
    games = [ended(1, 5), ended(2, 8), ended(3, 8)]
    assert longest_game(games) == games[1]
    assert featured_game([], games, UNRATED) == FeaturedGame(games[1], is_live=False)


def test_quickest_win_is_compared_with_the_shortest_possible_win() -> None:
    # A win takes 5 moves in noughts and crosses, and 9 in gomoku.
    small, large = ended(1, 7), ended(2, 11, variant="gomoku")
    assert quickest_win([small, large]) == large
    # Of two shortest wins, the one of the larger game is harder.
    assert quickest_win([ended(1, 5), ended(2, 9, variant="gomoku")]) == ended(2, 9, variant="gomoku")


@pytest.mark.parametrize("fields", [{"termination": "timeout"}, {"variant": "of-a-plugin"}])
def test_games_with_other_ends_or_unknown_variants_are_no_quick_wins(fields: dict[str, object]) -> None:
    assert quickest_win([ended(1, 2, **fields), ended(2, 9)]) == ended(2, 9)
    assert quickest_win([ended(1, 2, **fields)]) is None


def test_biggest_upset_has_the_largest_difference_of_ratings() -> None:
    rated = players(ann=1400, bob=1500, cy=1700, dee=None)
    small, large = ended(1), ended(2, first="cy", second="ann", result="0-1")
    expected, drawn = ended(3, result="0-1"), ended(4, second="cy", result="1/2-1/2")
    assert biggest_upset([small, large, expected, drawn], rated) == large
    assert biggest_upset([expected, drawn], rated) is None


@pytest.mark.parametrize("rating, is_upset", [(1599, False), (1600, True)])
def test_upset_needs_a_difference_of_100(rating: float, is_upset: bool) -> None:
    assert (biggest_upset([ended(1)], players(ann=1500, bob=rating)) is not None) == is_upset


def test_upset_needs_ratings_of_both_players() -> None:
    assert biggest_upset([ended(1, first="dee"), ended(2, second="dee"), ended(3, first="left")], UNRATED) is None
    half = players(ann=1400, dee=None)
    games = [ended(1, second="dee", result=result) for result in ("1-0", "0-1")]
    assert biggest_upset(games, half) is None


def test_closest_clock_is_the_smallest_share_of_base_time_left() -> None:
    # Ann has used 9.5 of 10 seconds; Bob, whose base time is ten times as long, 92 of 100.
    ann = ended(1, 3, first_time=BASE, times_us=[4_500_000, 0, 5_000_000])
    bob = ended(2, 3, second_time={**BASE, "bank_us": 100_000_000}, times_us=[0, 92_000_000, 0])
    assert [least_share_left(ann), least_share_left(bob)] == pytest.approx([0.05, 0.08])
    assert closest_clock([bob, ann]) == ann
    # With a tenth of the time left, no clock is close.
    assert closest_clock([ended(1, 3, first_time=BASE, times_us=[4_000_000, 0, 5_000_000])]) is None


def test_clocks_count_increments_openings_and_the_factor_of_the_game() -> None:
    # Two moves of the opening; then Ann uses 6 s in two moves and gets 1 s for each.
    fields: dict[str, Any] = {
        "first_time": {**BASE, "increment_us": 1_000_000},
        "times_us": [0, 0, 3_000_000, 9_000_000, 3_000_000],
    }
    assert least_share_left(ended(1, 5, opening_plies=2, **fields)) == pytest.approx(0.6)
    assert least_share_left(ended(1, 5, opening_plies=2, time_factor=2.0, **fields)) == pytest.approx(0.9)
    # After an opening of one move, Bob moves first.
    assert least_share_left(ended(1, 5, opening_plies=1, **fields)) == pytest.approx(0.6)


@pytest.mark.parametrize(
    "fields",
    [
        {"first_time": BASE, "termination": "timeout", "times_us": [10_000_000, 0, 0]},
        {"first_time": BASE | {"bank_us": 0, "move_us": 1_000_000}, "times_us": [900_000, 0, 0]},
        {"first_time": BASE | {"increment_us": 1_000_000}},
        {},
    ],
)
def test_no_clock_is_close_without_a_win_on_the_board_and_used_base_time(fields: dict[str, object]) -> None:
    assert closest_clock([ended(1, 3, **fields)]) is None


def test_games_of_the_day_have_titles_and_details_in_the_language() -> None:
    rated = players(ann=1400.4, bob=1520.6)
    games = [
        ended(1, 9, result="1/2-1/2", termination="board_full"),
        ended(2, 7),
        ended(3, 5, result="0-1"),
        ended(4, 6, result="0-1", first_time=BASE, times_us=[9_700_000, *[0] * 5]),
    ]
    chosen = games_of_the_day(games, rated)
    assert [(each.title, each.game) for each in chosen] == [
        ("Longest game", games[0]),
        ("Biggest upset", games[1]),
        ("Quickest win", games[2]),
        ("Closest clock", games[3]),
    ]
    assert [str(each.detail) for each in chosen] == [
        "9 moves",
        "ratings 1400 against 1521",
        "5 moves",
        "3% of the time left",
    ]
    with in_language(languages()["cs"]):
        assert str(chosen[0].detail) == "9 tahů"


def test_games_of_the_day_come_from_tournaments_of_different_games() -> None:
    newest = [{"variant": variant} for variant in ("connect4", "connect4", "gomoku", "connect4")]
    assert of_different_games(newest, 3) == [newest[0], newest[2], newest[1]]


def test_games_of_the_day_ended_within_a_day_before_the_last_game() -> None:
    before = ended(1, 30, end_time="2026-02-28T12:00:00Z")
    longest, last = ended(2, 20, end_time="2026-02-28T12:00:00.5Z"), ended(3, 9, end_time="2026-03-01T12:00:00Z")
    chosen = games_of_the_day([before, longest, last], UNRATED)
    assert [each.game for each in chosen] == [longest, last]
    assert without_featured(chosen, FeaturedGame(longest, is_live=False)) == chosen[1:]
    assert without_featured(chosen, None) == chosen


def test_each_game_of_the_day_has_one_title() -> None:
    only = ended(1, 9, first_time=BASE, times_us=[9_700_000, *[0] * 8])
    assert [each.title for each in games_of_the_day([only], players(ann=1400, bob=1500))] == ["Longest game"]


def test_small_games_are_the_other_live_ones_and_then_the_last_that_ended() -> None:
    featured, others = live(1), [live(2), live(3, state="ended")]
    games = [ended(number) for number in (3, 4, 7, 6)]
    of_the_day = [GameOfTheDay("Longest game", games[2], TimeLeft(0))]
    chosen = small_games([featured, *others], games, FeaturedGame(featured, is_live=True), of_the_day)
    assert chosen == [*others, games[3]]
    crowd = [live(number) for number in range(1, 9)]
    assert small_games(crowd, games, FeaturedGame(crowd[0], is_live=True), []) == crowd[1:4]


def test_small_games_are_not_the_featured_one_or_games_of_the_day() -> None:
    games = [ended(1), ended(2), ended(3)]
    assert small_games([], games, FeaturedGame(games[0], is_live=False), [GameOfTheDay("", games[2], TimeLeft(0))]) == [
        games[1]
    ]
