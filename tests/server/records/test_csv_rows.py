"""Results in CSV files, as programs and spreadsheets write them."""

import csv

import pytest

from noughts_server.records.csv_rows import CSV_HEAD, csv_text, read_csv
from noughts_server.records.recorded_game import RecordError
from noughts_server.tables.recorded_game import RecordedGame


def read_rows(text: str) -> list[RecordedGame | str]:
    """Read a CSV file, and return each game or the text of its error."""
    placed = read_csv(text.splitlines(keepends=True))
    return [str(game) if isinstance(game, RecordError) else game for _, game, _ in placed]


GAME = RecordedGame("", "ada", "bob", "1-0")


@pytest.mark.parametrize(
    "text",
    [
        "ada,bob,1-0\n",
        "white,black,result\nada,bob,1-0\n",
        "first;second;result\r\nada;bob;1-0\r\n",
        "White\tBlack\tResult\nada\tbob\t1\n",
        "sep=|\nresult|First player|Second player\n1-0|ada|bob\n",
        '"white","black","result"\n"ada", "bob", "1-0"\n',
        "name,first,second,first_bot,second_bot,result\nx,ada,bob,bots/ada,bots/bob,1-0\n",
        "black;white;score\nbob;ada;1.0\n",
        "\n\nada,bob,1 - 0\n",
        "first,second,result,comment\nada,bob,1-0,a;b;c;d;e\n",
        "ada,bob,1\N{EN DASH}0\n",
    ],
)
def test_separators_quotes_and_headings_are_read(text: str) -> None:
    assert read_rows(text) == [GAME]


def test_players_can_have_the_names_of_columns() -> None:
    rows = ["white,black,1-0\n", "first,second,0-1\n"]
    expected = [RecordedGame("", "white", "black", "1-0"), RecordedGame("", "first", "second", "0-1")]
    assert read_rows("".join(rows)) == expected
    assert read_rows("white,black,result\n" + "".join(rows)) == expected


@pytest.mark.parametrize(
    "text, message",
    [
        ("white,result\nada,1-0\n", "got a heading without 'second': white,result"),
        ("engine1,engine2,outcome\n", "got the result 'outcome', expected one of 1-0"),
        ('"ada,bob,1-0\n"cyd",bob,0-1\n', "got invalid CSV ("),
        ('"ada,bob,1-0\n', "got invalid CSV ("),
        ('"ada\nbob",cyd,1-0\n', "got a name with a line break"),
        ("ada,bob\n", "got 'ada,bob', expected first,second,result"),
    ],
)
def test_rows_that_would_be_read_wrong_are_refused(text: str, message: str) -> None:
    assert message in str(read_rows(text)[0])


NAMES = ["=cmd|' /C calc'!A0", "+1", "-1", "@x", "'=1", "a;=1"]


@pytest.mark.parametrize("name", NAMES)
def test_names_that_are_formulas_are_written_as_text_and_read_back(name: str) -> None:
    game = RecordedGame("gomoku", name, "bob", "1-0", more={"event": name})
    [row] = csv.reader([csv_text(game)])
    assert row[0] == row[5] != name
    assert not row[0].startswith(("=", "+", "-", "@"))
    assert read_rows(CSV_HEAD + csv_text(game)) == [game]


def test_a_row_keeps_round_date_event_variant_and_termination() -> None:
    more = {"round": 2, "date": "2026-11-27", "event": "Cup, north"}
    game = RecordedGame("gomoku", 'a "b", c', "bob", "0-1", termination="timeout", more=more)
    assert csv_text(game) == '"a ""b"", c",bob,0-1,2,2026-11-27,"Cup, north",gomoku,timeout\n'
    assert CSV_HEAD == "first,second,result,round,date,event,variant,termination\n"
    assert read_rows(CSV_HEAD + csv_text(game)) == [game]
    assert read_rows(CSV_HEAD + csv_text(GAME)) == [GAME]
