"""The kinds of tables: their rows for games made by hand, and sums that hold for all games."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_bots.language_models.record import Answer, Question, Wait
from noughts_referee.rules import Position, parse_variant
from noughts_server.competition.score import Score
from noughts_server.tables.about import About
from noughts_server.tables.kinds import TableKind, make_table
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.tables.table import Column, Table, Unit, Value, as_csv, as_markdown, cell_text
from noughts_server.tables.tally import Tally
from tests.support.settings import examples


def game(first: str, second: str, result: str = "1-0", **fields: Any) -> RecordedGame:
    defaults: dict[str, Any] = {"variant": "tictactoe", "moves": (4, 0, 8), "termination": "line"}
    return RecordedGame(first=first, second=second, result=result, **(defaults | fields))


def rows(kind: TableKind, *games: RecordedGame, limit: int | None = None) -> list[dict[str, Any]]:
    return make_table(kind, Tally(games), limit).document()


GAMES = (
    game("A", "B", moves=(4, 0, 8, 1, 2, 6, 5), times_ms=(1, 0.009, 3, 0.009, 2, 0.009, 4)),
    game("B", "A", "1/2-1/2", termination="board_full"),
    game("A", "C", "0-1", termination="timeout", fault="took too long"),
    game("C", "B", "*", termination="void"),
)


def test_standings_count_all_but_void_games() -> None:
    table = rows(TableKind.STANDINGS, *GAMES)
    assert [(row["rank"], row["name"], row["points"], row["games"]) for row in table] == [
        (1, "A", 1.5, 3),
        (2, "C", 1, 1),
        (3, "B", 0.5, 2),
    ]
    assert "1 void games count nowhere." in make_table(TableKind.STANDINGS, Tally(GAMES)).notes


def test_a_model_that_never_answered_has_no_means() -> None:
    answer = Answer(said="MOVE: b2", verdict="legal", seconds=0.1, input_tokens=100, output_tokens=10)
    answered = Question(
        model="m", answer="text", rethink=0, scramble=False, prompt="", answers=[answer], waits=[], cost=0.5
    )
    unanswered = answered._replace(answers=[], waits=[Wait("503", 2.0)], cost=0.0)
    table = rows(
        TableKind.MODELS,
        game("A", "B", more={"comments": {"0": answered.write(), "1": unanswered.write()}}),
    )
    names = "input_tokens_per_game", "output_tokens_per_game", "cost_per_game", "first_try_legal", "waited_s"
    assert {row["name"]: tuple(row[name] for name in names) for row in table} == {
        "A": (100, 10, 0.5, 1, 0),
        "B": (None, None, None, None, 2),
    }


def test_the_table_of_models_judges_all_moves_of_their_games() -> None:
    question = Question("m", "text", 0, False, "", [Answer("MOVE: b2", "legal", 0.1, 100, 10)], [], 0.5)
    of_models = {"comments": {"0": question.write(), "1": question.write()}}
    lost = game("A", "B", moves=(4, 1, 0, 8, 3, 5, 6), opening_plies=2, more=of_models)
    unknown = game("A", "B", variant="nothing", more=of_models)
    played = (*[lost] * 15, *[replace(lost, first="B", second="A")] * 15, unknown)
    table = make_table(TableKind.MODELS, Tally(played))
    decisions, blunders = accuracy_by_enumeration(lost.moves, lost.opening_plies)
    for row in table.document():
        assert row["decisions"] == 15 * sum(decisions)
        assert row["accuracy"] == 1 - sum(blunders) / sum(decisions)
    assert any(note.startswith("Decisions come from 30 of 31 games") for note in table.notes)


def accuracy_by_enumeration(moves: Sequence[int], opening_plies: int) -> tuple[list[int], list[int]]:
    """Return the decisions and the blunders of both sides after the opening of a game on the 3x3 board."""
    variant = parse_variant("tictactoe")
    decisions, blunders = [0, 0], [0, 0]
    for ply in range(opening_plies, len(moves)):
        position = Position.after(variant, moves[:ply])
        values = {cell: -value_by_enumeration(Position.after(variant, (*moves[:ply], cell))) for cell in position.free}
        best = max(values.values())
        if best >= 0 and min(values.values()) < best:
            decisions[ply % 2] += 1
            blunders[ply % 2] += values[moves[ply]] < best
    return decisions, blunders


def value_by_enumeration(position: Position) -> int:
    """Return 1 if the side to move wins, 0 for a draw, and -1 if it loses."""
    outcome = position.outcome()
    if outcome is not None:
        return 0 if outcome.winner is None else -1
    variant, moves = position.variant, position.moves
    return max(-value_by_enumeration(Position.after(variant, (*moves, cell))) for cell in position.free)


def test_the_crosstable_has_the_points_of_each_row() -> None:
    table = rows(TableKind.CROSSTABLE, *GAMES)
    assert table == [
        {"rank": 1, "name": "A", "A": None, "C": 0, "B": 1.5},
        {"rank": 2, "name": "C", "A": 1, "C": None, "B": None},
        {"rank": 3, "name": "B", "A": 0.5, "C": None, "B": None},
    ]


def test_sides_have_a_row_for_each_bot_and_one_for_all_bots() -> None:
    table = {row["name"]: row for row in rows(TableKind.SIDES, *GAMES)}
    assert (table["A"]["first_wins"], table["A"]["first_losses"], table["A"]["second_draws"]) == (1, 1, 1)
    assert table["C"]["first_score"] is None
    assert table["all bots"]["first_score"] == table["all bots"]["second_score"] == 0.5


def test_terminations_are_counted_and_time_losses_name_the_bot() -> None:
    table = make_table(TableKind.TERMINATIONS, Tally(GAMES))
    assert {row["termination"]: row["games"] for row in table.document()} == {
        "line": 1,
        "board_full": 1,
        "timeout": 1,
        "void": 1,
    }
    assert table.notes == ["A lost 1 by timeout."]


def test_table_of_openings_says_if_there_are_none() -> None:
    assert make_table(TableKind.OPENINGS, Tally([])).notes == ["No games yet."]
    assert make_table(TableKind.OPENINGS, Tally(GAMES)).notes == ["No game began with an opening."]


def test_results_without_moves_have_no_length_and_no_opening() -> None:
    results = [game("A", "B", moves=()), game("B", "A", "0-1", moves=())]
    assert [row["plies"] for row in rows(TableKind.TERMINATIONS, *results)] == [None]
    openings = make_table(TableKind.OPENINGS, Tally(results))
    assert (openings.rows, openings.notes) == ([], ["These games have no moves, so their openings are unknown."])


def test_openings_are_named_by_their_cells_the_most_played_first() -> None:
    opened = [game("A", "B", opening_plies=2), game("B", "A", "0-1", opening_plies=2), game("A", "B")]
    table = rows(TableKind.OPENINGS, *opened)
    assert [(row["opening"], row["games"], row["first_wins"]) for row in table] == [
        ("b2 a3", 2, 1),
        ("(empty board)", 1, 1),
    ]
    unplayed = game("A", "B", moves=(), termination="adjudicated")
    assert rows(TableKind.OPENINGS, *opened, unplayed)[-1]["games"] == 1
    assert make_table(TableKind.OPENINGS, Tally(opened), 1).notes[-1] == "The first 1 of 2 openings."


def test_times_are_of_the_bots_own_moves() -> None:
    table = {row["name"]: row for row in rows(TableKind.TIMES, *GAMES)}
    assert (table["A"]["moves"], table["A"]["median_ms"], table["A"]["max_ms"]) == (4, 2.0, 4.0)
    assert (table["B"]["moves"], table["B"]["median_ms"]) == (3, 0.009)
    assert table["A"]["time_losses"] == 1


@pytest.mark.parametrize("plies", [0, 1, 2, 3])
@pytest.mark.parametrize("kind", ["opening", "agreed"])
def test_times_leave_out_the_moves_of_the_opening(plies: int, kind: str) -> None:
    opening: dict[str, Any] = (
        {"opening_plies": plies} if kind == "opening" else {"more": {"opening": {"stones": plies}}}
    )
    times_ms = (0.010, 0.021, 0.030, 0.041, 0.050, 0.061)
    recorded = game("A", "B", moves=(0, 1, 2, 3, 4, 5), times_ms=times_ms, **opening)
    tally = Tally([recorded])
    own_times = [10, 21, 30, 41, 50, 61][plies:]
    times_us = {label: sorted(time for time, _ in tally.times[label].items()) for label in "AB"}
    # The times of A are even, those of B odd.
    assert times_us == {
        "A": [time for time in own_times if time % 2 == 0],
        "B": [time for time in own_times if time % 2],
    }


def test_games_with_the_same_players_and_moves_are_not_distinct() -> None:
    tally = Tally([game("A", "B"), game("A", "B", seed=2), game("B", "A"), game("A", "B", moves=(4, 0, 7))])
    assert (tally.games, tally.distinct) == (4, 3)


def test_repetitions_of_a_game_count_as_one_independent_result() -> None:
    repeated = [game("A", "B")] * 5
    different = [game("B", "A", moves=(4, 0, cell)) for cell in (8, 7, 8)]
    late = [game("A", "B", "0-1", termination="timeout", moves=(4,))] * 3
    after_opening = [game("A", "B", "1/2-1/2", opening_plies=1)] * 2
    tally = Tally([*repeated, *different, *late, *after_opening])
    assert tally.repeats == 4 + 1
    # Time losses are never repetitions. If the games of a pair differ, each counts, even a repeated one.
    assert tally.independent_scores == {
        ("A", "B"): Score(wins=1, draws=1, losses=3),
        ("B", "A"): Score(wins=3),
    }
    assert tally.scores == {("A", "B"): Score(wins=5, draws=2, losses=3), ("B", "A"): Score(wins=3)}


def test_games_lost_by_a_withdrawal_are_no_independent_results() -> None:
    withdrawn = {"termination": "adjudicated", "fault": "was withdrawn"}
    unplayed = [game("A", "B", moves=(), **withdrawn)] * 2
    begun = [game("A", "B", moves=(4,), **withdrawn)] * 2
    by_scores = game("A", "B", termination="adjudicated")
    tally = Tally([game("A", "B"), game("A", "B"), by_scores, *unplayed, *begun])
    assert tally.scores == {("A", "B"): Score(wins=7)}
    assert tally.independent_scores == {("A", "B"): Score(wins=1)}
    assert tally.repeats == 2


games = st.lists(
    st.builds(
        game,
        st.sampled_from("ABCD"),
        st.sampled_from("EFGH"),
        st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"]),
        termination=st.sampled_from(["line", "board_full", "timeout"]),
        opening_plies=st.sampled_from([0, 1, 2]),
    ),
    min_size=1,
    max_size=60,
)


@given(games)
@examples(100)
def test_every_table_counts_every_game_once(played: list[RecordedGame]) -> None:
    counted = [recorded for recorded in played if recorded.result != "*"]
    assert sum(row["points"] for row in rows(TableKind.STANDINGS, *played)) == len(counted)
    assert sum(row["games"] for row in rows(TableKind.STANDINGS, *played)) == 2 * len(counted)
    for kind in (TableKind.TERMINATIONS, TableKind.OPENINGS):
        table = rows(kind, *played)
        assert sum(row["games"] for row in table) == len(played)
        assert abs(sum(row["share"] for row in table) - 1) < 1e-9
        assert sum(row["first_wins"] + row["draws"] + row["second_wins"] for row in table) == len(counted)
    *bot_rows, total = rows(TableKind.SIDES, *played)
    assert sum(row["first_wins"] + row["first_draws"] + row["first_losses"] for row in bot_rows) == len(counted)
    assert total["first_wins"] == sum(row["first_wins"] for row in bot_rows) == total["second_losses"]
    cells = [row[name] for row in rows(TableKind.CROSSTABLE, *played) for name in "ABCDEFGH" if row.get(name)]
    assert sum(cells) == len(counted)


def test_csv_has_plain_values_under_the_keys_of_columns() -> None:
    records = list(csv.DictReader(StringIO(as_csv(make_table(TableKind.STANDINGS, Tally(GAMES))))))
    assert records[0] == {
        "rank": "1",
        "name": "A",
        "points": "1.5",
        "games": "3",
        "wins": "1",
        "draws": "1",
        "losses": "1",
        "head_to_head": "",
        "sonneborn_berger": "0.75",
    }


def test_csv_quotes_commas_quotes_and_line_ends() -> None:
    hostile = 'a,"b"\n1+1'
    csv_text = as_csv(make_table(TableKind.STANDINGS, Tally([game(hostile, "B")])))
    assert list(csv.reader(StringIO(csv_text)))[1][1] == hostile


def test_csv_has_no_formulas_and_keeps_negative_numbers() -> None:
    columns = [Column("name", "Name"), Column("change", "Change", Unit.NUMBER)]
    rows: list[list[Value]] = [["=cmd|' /C calc'!A0", -1.5], ["a\x1b[31m", -2.0]]
    assert as_csv(Table("names", "Names", columns, rows)) == ("name,change\n'=cmd|' /C calc'!A0,-1.5\na\ufffd[31m,-2\n")


def test_markdown_makes_no_links_notifies_nobody_and_controls_no_terminal() -> None:
    caption = "@octo https://e.example WWW.e.example a@b \x1b[31m"
    written = as_markdown(Table("names", caption, [], []))
    assert written == "## @\u2060octo https:\u2060//e.example WWW\u2060.e.example a@b \ufffd\\[31m\n"


def test_markdown_shows_names_as_they_are() -> None:
    written = as_markdown(make_table(TableKind.STANDINGS, Tally([game("a|b", "<i>[x](y)</i>"), game("*_c_*", "d\ne")])))
    assert "a\\|b" in written
    assert "\\<i\\>\\[x\\]\\(y\\)\\</i\\>" in written
    assert "d e" in written
    table = [line for line in written.splitlines() if line.startswith("|")]
    assert len({line.replace("\\|", "").count("|") for line in table}) == 1


@pytest.mark.parametrize(
    "value, unit, text",
    [
        (1.0, Unit.SHARE, "100.0%"),
        (0.99996, Unit.SHARE, ">99.9%"),
        (0.0001, Unit.SHARE, "<0.1%"),
        (0.0, Unit.SHARE, "0.0%"),
        (0.5, Unit.POINTS, "½"),
        (12.5, Unit.POINTS, "12½"),
        (0.75, Unit.POINTS, "¾"),
        (18.25, Unit.POINTS, "18¼"),
        (1234567, Unit.COUNT, "1,234,567"),
        (0.0, Unit.POINTS, "0"),
        (9.994, Unit.MILLISECONDS, "9.99"),
        (1234.5, Unit.MILLISECONDS, "1,234"),
        (None, Unit.SHARE, ""),
    ],
)
def test_cells_are_written_for_people(value: float | None, unit: Unit, text: str) -> None:
    assert cell_text(value, unit) == text


def test_note_of_a_knockout_says_that_rounds_come_before_points() -> None:
    about = About(matches_won={"A": 2})
    note = make_table(TableKind.STANDINGS, Tally(GAMES, about)).notes[0]
    assert note.startswith("Ranked by the round reached, then by points; tie-breaks in this order: head-to-head")
