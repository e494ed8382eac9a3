"""Games of a match are counted as pairs in slot order, and repeated pairs only once."""

from __future__ import annotations

import random

import pytest

from noughts_referee.rules import Result, Termination
from noughts_server.statistics.match_games import WALKOVER, MatchGame, MatchGames, MatchStatistics, match_game
from noughts_server.statistics.sprt import Decision, Sprt


def statistics_of(
    games: list[MatchGame], *, order: list[int] | None = None, sprt: Sprt | None = None
) -> MatchStatistics:
    """Add the games in this order of indexes (by default as listed), and return the statistics."""
    match = MatchGames(sprt)
    for place in order or range(len(games)):
        match.add({place + 1: games[place]})
    return match.statistics()


def random_games(number: int, *, seed: int) -> list[MatchGame]:
    """Return different games, of which the first player wins 50 % and draws 20 % on average."""
    rng = random.Random(seed)
    return [
        MatchGame(points=rng.choices((1.0, 0.5, 0.0), weights=(5, 2, 3))[0], moves=str(rng.random()))
        for _ in range(number)
    ]


def game_that_its_first_side_wins(ordinal: int, opening: int = 0) -> MatchGame:
    """Return a game of bots without randomness. Both bots win one game of each pair, which decides no test."""
    is_first_of_pair = ordinal % 2 == 1
    return MatchGame(
        points=1.0 if is_first_of_pair else 0.0, opening=opening, moves=f"opening {opening}, first {is_first_of_pair}"
    )


def test_two_games_in_a_row_are_a_pair_and_an_odd_last_one_is_single() -> None:
    games = [MatchGame(points, "", str(place)) for place, points in enumerate([1, 1, 0.5, 0, 0, 1, 1])]
    statistics = statistics_of(games)
    assert statistics.pentanomial == (0, 1, 1, 0, 1)
    assert statistics.single == (1, 0, 0)
    assert (statistics.games, statistics.repeats) == (7, 0)


def test_games_lost_by_a_withdrawal_do_not_count() -> None:
    # One game ends before any move, the other after one move.
    walkovers = [
        match_game(result, Termination.ADJUDICATED, side, moves, b"", "was withdrawn")
        for side, result, moves in ((0, Result.FIRST_WINS, b""), (1, Result.SECOND_WINS, b"1"))
    ]
    drawn_game = match_game(Result.DRAW, Termination.ADJUDICATED, 0, b"1", b"")
    resigned_game = match_game(Result.FIRST_WINS, Termination.ADJUDICATED, 0, b"1", b"")
    # A rule ended this game, so it counts.
    assert resigned_game.points == 1
    assert walkovers == [WALKOVER, WALKOVER]
    assert statistics_of([drawn_game, drawn_game, *walkovers * 9]) == statistics_of([drawn_game, drawn_game])


def test_counts_do_not_depend_on_the_order_in_which_games_end() -> None:
    games = random_games(200, seed=1)
    expected = statistics_of(games)
    for seed in range(5):
        order = list(range(len(games)))
        random.Random(seed).shuffle(order)
        assert statistics_of(games, order=order) == expected


def test_a_test_is_decided_at_the_same_pair_in_whatever_order_games_end() -> None:
    games, test = random_games(2_000, seed=2), Sprt(0, 60)
    expected = statistics_of(games, sprt=test)
    assert expected.sprt is not None
    assert expected.sprt.decision is Decision.H1
    assert expected.games < 2_000
    # The decision falls at exactly this pair: without it the test is not decided.
    assert statistics_of(games[: expected.games], sprt=test) == expected
    before = statistics_of(games[: expected.games - 2], sprt=test).sprt
    assert before is not None
    assert before.decision is Decision.CONTINUE
    for seed in range(5):
        # A game can end up to 300 games later than its place in the list.
        order = sorted(range(len(games)), key=lambda place: place + random.Random(f"{seed} {place}").random() * 300)
        assert statistics_of(games, order=order, sprt=test) == expected


def test_a_gap_delays_the_decision() -> None:
    """All later games are wins, but they must not decide the test while the first game still runs."""
    match = MatchGames(Sprt(0, 60))
    for ordinal in range(2, 200):
        match.add({ordinal: MatchGame(1.0, "", str(ordinal))})
    assert match.state is not None
    assert match.state.llr == 0
    match.add({1: MatchGame(0.0, "", "1")})
    assert match.decided


def test_a_match_knows_games_without_a_gap_up_to_the_end_of_its_test() -> None:
    match = MatchGames(Sprt(0, 60))
    known_counts = []
    for ordinal in (2, 1, 3, 6, 4):
        match.add({ordinal: MatchGame(0.5, "", str(ordinal))})
        known_counts.append(match.known)
    assert known_counts == [0, 2, 3, 3, 4]
    for ordinal in range(500, 6, -1):
        match.add({ordinal: MatchGame(1.0, "", str(ordinal))})
    assert match.known == 4
    match.add({5: MatchGame(1.0, "", "5")})
    assert match.over
    assert match.known == match.statistics().games < 500


def test_a_test_is_exhausted_at_the_same_pair_in_whatever_order_games_end() -> None:
    match = MatchGames(Sprt(0, 10))
    for ordinal in range(400, 0, -1):
        match.add({ordinal: game_that_its_first_side_wins(ordinal)})
    assert match.exhausted
    # The first pair, and 50 repetitions of it.
    assert match.known == match.statistics().games == 2 * 51


def test_the_course_of_a_test_has_few_points_at_equal_distances() -> None:
    """The points do not depend on the order in which the games end."""
    courses = []
    for backwards in (False, True):
        match = MatchGames(Sprt(-1, 1))
        games = {ordinal: MatchGame(float(ordinal % 4 < 2), "", str(ordinal)) for ordinal in range(1, 2201)}
        for ordinal in sorted(games, reverse=backwards):
            match.add({ordinal: games[ordinal]})
        courses.append(match.course)
    assert courses[0] == courses[1]
    assert [pairs for pairs, _ in courses[0]] == list(range(8, 1101, 8))
    assert not match.decided


def test_void_games_are_in_no_pair() -> None:
    statistics = statistics_of(
        [MatchGame(None), MatchGame(1.0, "", "a"), MatchGame(0.5, "", "b"), MatchGame(0.5, "", "c")]
    )
    assert statistics.pentanomial == (0, 0, 1, 0, 0)
    assert statistics.single == (1, 0, 0)
    assert statistics.games == 3


def test_the_same_pair_again_counts_once() -> None:
    pair = [MatchGame(1.0, "", "abc"), MatchGame(0.5, "", "de")]
    statistics = statistics_of(pair * 5 + pair[:1])
    assert statistics.pentanomial == (0, 0, 0, 1, 0)
    assert statistics.single == (0, 0, 0)
    assert (statistics.games, statistics.repeats) == (11, 9)


def test_if_one_game_differs_all_games_count() -> None:
    pair = [MatchGame(1.0, "", "abc"), MatchGame(0.5, "", "de")]
    statistics = statistics_of(pair * 5 + [MatchGame(0.0, "", "xyz"), pair[1]] + pair)
    assert statistics.pentanomial == (0, 1, 0, 6, 0)
    assert statistics.repeats == 0


def test_repetitions_are_counted_for_each_opening() -> None:
    pairs = [
        MatchGame(points, opening, opening + str(points)) for opening in ("a", "b", "a", "b") for points in (1.0, 0.0)
    ]
    statistics = statistics_of(pairs)
    assert statistics.pentanomial == (0, 0, 2, 0, 0)
    assert statistics.repeats == 4


def test_crashes_are_not_repetitions() -> None:
    statistics = statistics_of([MatchGame(1.0), MatchGame(1.0)] * 20)
    assert statistics.pentanomial == (0, 0, 0, 0, 20)


@pytest.mark.parametrize("games", [0, 1])
def test_a_match_of_at_most_one_game_has_no_pairs(games: int) -> None:
    statistics = statistics_of(random_games(games, seed=3), sprt=Sprt(0, 5))
    assert statistics.pentanomial.pairs == 0
    assert statistics.sprt is not None
    assert statistics.sprt.llr == 0


# Each opening once, and then 50 repetitions, or two for each opening if these are more.
@pytest.mark.parametrize("openings, pairs", [(1, 1 + 50), (10, 10 + 50), (100, 100 + 2 * 100)])
def test_a_test_of_players_without_randomness_is_exhausted(openings: int, pairs: int) -> None:
    match = MatchGames(Sprt(0, 10))
    for ordinal in range(1, 2 * pairs + 1):
        assert not match.exhausted
        opening = (ordinal - 1) // 2 % openings
        match.add({ordinal: game_that_its_first_side_wins(ordinal, opening)})
    assert match.exhausted
    assert not match.decided


def test_a_test_of_players_with_random_moves_is_never_exhausted() -> None:
    match = MatchGames(Sprt(0, 10))
    for ordinal in range(1, 2001):
        # Two of 60 games differ from the others, so no 50 consecutive pairs are repetitions.
        moves = "other" if ordinal % 60 < 2 else "same"
        match.add({ordinal: game_that_its_first_side_wins(ordinal)._replace(moves=moves)})
        assert not match.exhausted
