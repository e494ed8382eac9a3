"""Tie-breaks: cases made by hand, and a direct computation from their definitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from noughts_server.competition.score import Score
from noughts_server.tables.standings import RankedEntry, TieBreak, compute_standings, displayed_place, tie_notes
from tests.support.settings import examples

Pairs = Mapping[tuple[str, str], Score]
LABELS = "ABCDE"


def pair(first: str, second: str, score: Score | None = None) -> tuple[tuple[str, str], Score]:
    """Return the key and the score of a pair; by default, the first mover won one game."""
    return (first, second), score or Score(wins=1)


def by_label(entries: list[RankedEntry]) -> dict[str, RankedEntry]:
    return {entry.label: entry for entry in entries}


def test_points_decide_before_everything_else() -> None:
    standings = compute_standings("AB", dict([pair("B", "A", Score(wins=2, losses=1))]))
    assert [(entry.label, entry.rank, entry.points) for entry in standings] == [("B", 1, 2.0), ("A", 2, 1.0)]
    assert {entry.head_to_head for entry in standings} == {None}


def test_equal_entries_are_in_the_natural_order_of_their_names() -> None:
    assert [entry.label for entry in compute_standings(["b10", "b1", "b2"], {})] == ["b1", "b2", "b10"]


def test_entries_without_a_result_are_behind_equals_and_show_no_place() -> None:
    games = dict([pair("D", "B", Score(wins=2)), pair("D", "C")])
    standings = compute_standings("ABCD", games, {"A": 0.0})
    assert [(entry.label, entry.rank, displayed_place(entry, 9)) for entry in standings] == [
        ("D", 1, 1),
        ("B", 2, 2),
        ("C", 2, 2),
        ("A", 2, None),
    ]
    (bye, _) = compute_standings("AB", {}, {"B": 2.0})
    assert displayed_place(bye, 9) == 1
    assert displayed_place(replace(bye, rank=0), 9) == 9


def test_head_to_head_decides_between_two_with_equal_points() -> None:
    # A and B have two points each; B has the better opponents, but A beat B.
    games = dict([pair("A", "B"), pair("B", "C"), pair("B", "D"), pair("C", "A"), pair("A", "D"), pair("D", "C")])
    standings = compute_standings("BACD", games)
    assert [entry.label for entry in standings][:2] == ["A", "B"]
    assert by_label(standings)["A"].head_to_head == 1.0
    assert by_label(standings)["B"].head_to_head == 0.0


def test_head_to_head_does_not_count_if_some_have_not_met() -> None:
    games = dict([pair("A", "C"), pair("B", "D"), pair("C", "D")])
    standings = by_label(compute_standings("ABCD", games))
    assert [standings[label].points for label in "ABC"] == [1, 1, 1]
    assert [standings[label].head_to_head for label in "ABC"] == [None, None, None]
    # A beat C, who has a point; B beat D, who has none.
    assert (standings["A"].sonneborn_berger, standings["B"].sonneborn_berger) == (1.0, 0.0)
    assert standings["A"].rank == 1


def test_head_to_head_does_not_count_if_some_met_more_often() -> None:
    drawn = Score(draws=1)
    games = dict(
        [pair("A", "B", Score(wins=1, losses=1)), pair("B", "C", drawn), pair("C", "A", drawn), pair("C", "D", drawn)]
    )
    standings = by_label(compute_standings("ABCD", games))
    assert [(standings[label].points, standings[label].head_to_head) for label in "ABC"] == [(1.5, None)] * 3


def test_three_that_beat_each_other_in_a_circle_share_a_rank() -> None:
    circle = dict([pair("A", "B"), pair("B", "C"), pair("C", "A")])
    assert [entry.rank for entry in compute_standings("CBA", circle)] == [1, 1, 1]
    assert [entry.label for entry in compute_standings("CBA", circle)] == ["A", "B", "C"]


def test_wins_are_the_last_tie_break() -> None:
    # A and B have equal points and Sonneborn-Berger scores, and have not met. A has a win and a loss, B two draws.
    games = dict([pair("A", "C", Score(wins=1, losses=1)), pair("B", "D", Score(draws=2))])
    standings = compute_standings("BADC", games)
    assert [(entry.label, entry.rank) for entry in standings] == [("A", 1), ("C", 1), ("B", 3), ("D", 3)]


def test_bye_adds_points_but_no_game() -> None:
    standings = by_label(compute_standings("AB", {}, {"B": 2.0}))
    assert (standings["B"].rank, standings["B"].points, standings["B"].score) == (1, 2.0, Score())
    assert standings["A"].rank == 2


def test_knockout_is_ranked_by_matches_won_then_by_points() -> None:
    games = dict([pair("A", "B", Score(wins=5)), pair("C", "A", Score(wins=1)), pair("C", "D", Score(draws=1))])
    standings = compute_standings("ABCD", games, matches_won={"C": 2, "A": 1})
    assert [(row.label, row.rank, row.points) for row in standings] == [
        ("C", 1, 1.5),
        ("A", 2, 5),
        ("D", 3, 0.5),
        ("B", 4, 0),
    ]
    assert [row.tie_break for row in standings] == [None, None, None, TieBreak.POINTS]
    assert tie_notes(standings) == []  # different points are no tie


def test_each_broken_tie_has_a_note_with_its_values() -> None:
    games = dict([pair("A", "B"), pair("B", "C"), pair("B", "D"), pair("C", "A"), pair("A", "D"), pair("D", "C")])
    standings = compute_standings("ABCD", games)
    assert [row.tie_break for row in standings] == [None, TieBreak.HEAD_TO_HEAD] * 2
    assert tie_notes(standings) == [
        "2 points: A before B by head-to-head score (1 to 0).",
        "1 point: D before C by head-to-head score (1 to 0).",
    ]


def test_a_tie_that_nothing_breaks_is_a_shared_rank_without_a_note() -> None:
    standings = compute_standings("AB", dict([pair("A", "B"), pair("B", "A")]))
    assert [(row.rank, row.tie_break) for row in standings] == [(1, None), (1, TieBreak.SHARED)]
    assert tie_notes(standings) == []


counts = st.integers(0, 3)
scores = st.builds(Score, wins=counts, draws=counts, losses=counts)
pair_scores = st.dictionaries(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)).filter(lambda labels: labels[0] != labels[1]), scores
)


def games_of(pairs: Pairs) -> list[tuple[str, str, float]]:
    """Return each game: first mover, second mover, and the first mover's points."""
    return [
        (first, second, points)
        for (first, second), score in pairs.items()
        for points, count in ((1.0, score.wins), (0.5, score.draws), (0.0, score.losses))
        for _ in range(count)
    ]


def results_of(label: str, pairs: Pairs) -> list[tuple[str, float]]:
    """Return the opponent and the own points in each game of this bot."""
    games = games_of(pairs)
    as_first = [(second, points) for first, second, points in games if first == label]
    return as_first + [(first, 1 - points) for first, second, points in games if second == label]


@given(pair_scores)
@examples(300)
def test_tie_breaks_follow_their_definitions(pairs: Pairs) -> None:
    entries = compute_standings(LABELS, pairs)
    points = {label: sum(own for _, own in results_of(label, pairs)) for label in LABELS}
    assert sum(points.values()) == len(games_of(pairs))
    for entry in entries:
        results = results_of(entry.label, pairs)
        assert entry.points == points[entry.label]
        assert entry.wins == sum(own == 1 for _, own in results)
        assert entry.sonneborn_berger == sum(own * points[opponent] for opponent, own in results)
        equal = [label for label in LABELS if points[label] == entry.points and label != entry.label]
        meetings = {
            sum(opponent == other for opponent, _ in results_of(label, pairs))
            for label in [*equal, entry.label]
            for other in [*equal, entry.label]
            if label != other
        }
        if equal and len(meetings) == 1 and 0 not in meetings:
            assert entry.head_to_head == sum(own for opponent, own in results if opponent in equal)
        else:
            assert entry.head_to_head is None


@given(pair_scores)
@examples(200)
def test_rank_is_one_more_than_the_number_of_better_entries(pairs: Pairs) -> None:
    entries = compute_standings(LABELS, pairs)
    for entry in entries:
        assert entry.rank == 1 + sum(other.order > entry.order for other in entries)
    assert [entry.rank for entry in entries] == sorted(entry.rank for entry in entries)


@given(pair_scores, st.permutations(LABELS))
@examples(100)
def test_standings_do_not_depend_on_the_order_of_entry(pairs: Pairs, shuffled: list[str]) -> None:
    assert compute_standings(shuffled, dict(reversed(list(pairs.items())))) == compute_standings(LABELS, pairs)
