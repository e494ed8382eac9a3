"""A game that is written to a file and read again is the same, as far as the file's format can hold it."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_referee.rules import Draws, Result, Termination, Thought, last_move, parse_variant
from noughts_referee.rules.thoughts import LARGEST_NODES, LONGEST_US
from noughts_server.records.csv_rows import read_csv
from noughts_server.records.data_set import Rows
from noughts_server.records.formats import FormatError, read_games, writing_games
from noughts_server.records.json_lines import json_document, json_line, read_json_lines
from noughts_server.records.parquet import lines_of
from noughts_server.records.pgn import read_pgn
from noughts_server.records.psq import psq_text, read_psq
from noughts_server.records.recorded_game import RecordError, comments_by_ply, score_column, thoughts_by_ply, variant_of
from noughts_server.records.replay import record_errors
from noughts_server.records.sgf import read_sgf, sgf_text
from noughts_server.tables.recorded_game import RecordedGame
from tests.support.settings import examples

FLAT_VARIANTS = (
    "tictactoe",
    "gomoku",
    "gomoku:exact",
    "gomoku20",
    "renju",
    "caro:exact:20",
    "connect4",
    "mnk:9,7,4",
    "mnk:30,2,3",
)
LAYERED_VARIANTS = ("qubic", "tictactoe3d")
NAMES = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12) | st.sampled_from(
    ["threats", "a]b", "back\\slash", "semi;colon", "(", "=x:y", "Ω [1]", "a,b", '"quoted"']
)
HOSTILE_NAMES = (
    NAMES
    | st.text(max_size=6)
    | st.from_regex(r"-?[0-9]{1,3}(,[0-9]{1,3}){0,3}", fullmatch=True)
    | st.sampled_from(
        ["", " ", "-1", "0", "8,9", "8,9,3", "a\nb", "\ufeffa", "white", "[White]", "(;", ")", "Piskvorky 15x15"]
    )
)
DATES = st.dates().map(str) | st.sampled_from(["2026", "2026-11"])
EVENTS_AND_DATES = st.fixed_dictionaries({}, optional={"event": NAMES.filter(lambda name: name != "?"), "date": DATES})
MICROSECONDS = st.integers(0, 10**10).map(lambda microseconds: microseconds / 1000)


@st.composite
def played_games(draw: st.DrawFn, variants: tuple[str, ...] = FLAT_VARIANTS) -> RecordedGame:
    """Generate games of random legal moves that end in any way."""
    name = draw(st.sampled_from(variants))
    variant, draws = variant_of(name), Draws(draw(st.integers(0, 2**64 - 1)), 0)
    longest = draw(st.integers(0, 60))
    moves: list[int] = []
    own = opponent = 0
    outcome = None
    while outcome is None and len(moves) < longest:
        side = len(moves) & 1
        cell = draws.choice(variant.legal_cells(own, opponent, side))
        own |= 1 << cell
        outcome = variant.outcome(own, opponent, cell, side)
        moves.append(cell)
        own, opponent = opponent, own
    if outcome is None:
        to_move = len(moves) & 1
        loss_of_mover = Result.SECOND_WINS if to_move == 0 else Result.FIRST_WINS
        ending = draw(st.sampled_from(["timeout", "resigned", "illegal_move", "crashed", "adjudicated", "void"]))
        result = {"adjudicated": Result.DRAW, "void": Result.VOID}.get(ending, loss_of_mover)
    else:
        result, ending = outcome.result, str(outcome.termination)
    beyond = 1 if ending in ("timeout", "resigned", "illegal_move") else 0
    times = draw(st.just([]) | st.lists(MICROSECONDS, min_size=len(moves) + beyond, max_size=len(moves) + beyond))
    own_times = draw(st.booleans())
    return RecordedGame(
        variant=name,
        first=draw(NAMES),
        second=draw(NAMES),
        result=str(result),
        moves=tuple(moves),
        termination=ending,
        seed=draw(st.none() | st.integers(0, 2**64 - 1)),
        opening_plies=draw(st.integers(0, max(0, len(moves) - 1))) if moves else 0,
        times_ms=tuple(times),
        first_time="60+0.5" if own_times else "",
        second_time="1/move" if own_times else "",
        fault="was too slow: 1 s" if ending == "timeout" else "",
        more=draw(EVENTS_AND_DATES),
    )


@examples(80)
@given(record=played_games((*FLAT_VARIANTS, *LAYERED_VARIANTS)))
def test_json_lines_lose_nothing(record: RecordedGame) -> None:
    (placed,) = read_json_lines([json_line(record)])
    read_game = placed.game
    assert isinstance(read_game, RecordedGame)
    added = ("winning_cells", "seed_text", "fault")
    assert (
        replace(read_game, more={name: value for name, value in read_game.more.items() if name not in added}) == record
    )
    assert json_line(read_game) == json_line(record)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
COLUMN = st.sampled_from([column.name for column in Rows.GAMES.columns])
END_TIMES = st.datetimes(timezones=st.just(UTC)).map(datetime.isoformat)
MORE_KEYS = ("first_time", "second_time", "termination")  # must be text
MORE_COLUMNS = st.fixed_dictionaries(
    {},
    optional={
        "event": NAMES,
        "date": DATES,
        "game": NAMES,
        "end_time": END_TIMES | JSON,
        "scores": st.lists(st.none() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)) | JSON,
        "winning_cells": JSON,
        "opening": st.fixed_dictionaries({"rule": NAMES, "opener": NAMES, "stones": st.integers()}),
        "fault": JSON,
    },
)
FIXED_COLUMNS = {"variant", "first", "second", "result", "moves", "seed", "times_ms"}
OTHER_COLUMNS = st.dictionaries(
    COLUMN.filter(lambda name: name not in FIXED_COLUMNS) | st.text(max_size=4), JSON, max_size=3
)


@examples(150)
@given(
    games=st.lists(
        st.tuples(played_games((*FLAT_VARIANTS, *LAYERED_VARIANTS)), MORE_COLUMNS, OTHER_COLUMNS), max_size=3
    )
)
def test_parquet_loses_nothing(games: list[tuple[RecordedGame, dict[str, Any], dict[str, Any]]]) -> None:
    lines = [
        json.dumps(
            {**json_document(game), **more, **{key: value for key, value in added.items() if key not in MORE_KEYS}}
        )
        for game, more, added in games
    ]
    games_to_write = [placed.game for placed in read_json_lines(lines) if isinstance(placed.game, RecordedGame)]
    with TemporaryDirectory() as folder:
        write_all(f"{folder}/games.parquet", games_to_write)
        with open(f"{folder}/games.parquet", "rb") as file:
            read_games_again = [placed.game for placed in read_json_lines(lines_of(file))]
    assert [json_document(game) for game in read_games_again if isinstance(game, RecordedGame)] == list(
        map(json_document, games_to_write)
    )


@examples(80)
@given(record=played_games(), draw=st.data())
def test_scores_are_kept_in_json_lines_and_sgf(record: RecordedGame, draw: st.DataObject) -> None:
    plies = len(record.moves)
    numbers = st.floats(-3e38, 3e38) | st.integers(-(10**6), 10**6)
    scores = draw.draw(st.dictionaries(st.integers(0, plies - 1), numbers)) if plies else {}
    scored = replace(record, more={**record.more, **score_column(scores, plies)})
    (line,) = read_json_lines([json_line(scored)])
    (tree,) = read_sgf(sgf_text(scored).splitlines(keepends=True))
    for placed in (line, tree):
        assert isinstance(placed.game, RecordedGame)
        assert placed.game.scores == scored.scores == ([scores.get(ply) for ply in range(plies)] if scores else [])


THOUGHTS = st.builds(
    Thought,
    depth=st.integers(0, 65_535),
    nodes=st.integers(0, LARGEST_NODES),
    time_us=st.integers(0, LONGEST_US),
    pv=st.lists(st.integers(0, 8), unique=True).map(tuple),
).filter(any)
REMARKS = st.text(st.characters(exclude_categories=("C", "Z")) | st.sampled_from(" \n\\]["), min_size=1)


@examples(80)
@given(record=played_games(), draw=st.data())
def test_thoughts_and_comments_are_kept_in_json_lines_and_sgf(record: RecordedGame, draw: st.DataObject) -> None:
    plies = st.integers(0, len(record.moves) - 1)
    thoughts = draw.draw(st.dictionaries(plies, THOUGHTS)) if record.moves else {}
    comments = draw.draw(st.dictionaries(plies, REMARKS)) if record.moves else {}
    told = replace(record, more={**record.more, **comments_by_ply(comments), **thoughts_by_ply(thoughts)})
    (line,) = read_json_lines([json_line(told)])
    (tree,) = read_sgf(sgf_text(told).splitlines(keepends=True))
    for placed in (line, tree):
        assert isinstance(placed.game, RecordedGame)
        assert (placed.game.thoughts, placed.game.comments) == (thoughts, comments)
        assert placed.game.times_ms == record.times_ms


@pytest.mark.parametrize(
    "thought", [None, 5, [], {"depth": "9"}, {"depth": True}, {"pv": [1.5]}, {"pv": "h8"}, {"time_ms": 1e300}, {}]
)
def test_thoughts_of_other_programs_that_are_not_ours_are_left_out(thought: object) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), more={"thoughts": {"0": thought}})
    assert record.thoughts == {}
    assert "depth" not in sgf_text(record)


def test_comments_of_bots_are_not_taken_for_times_or_openings() -> None:
    comments = {0: "opening move", 1: "it seems 9ms"}
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), more=comments_by_ply(comments))
    (placed,) = read_sgf(sgf_text(record).splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.comments, placed.game.times_ms, placed.game.opening_plies) == (comments, (), 0)


def test_a_line_with_a_row_of_very_many_digits_ends_before_it() -> None:
    (placed,) = read_sgf([f"(;GM[4]AP[Noughts]SZ[15]RU[gomoku];B[hh]N[depth 3 pv h8 h{'9' * 5_000}])"])
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.thoughts == {0: Thought(depth=3, pv=(112,))}


def test_what_bots_reported_is_read_once_for_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = Counter[str]()

    def count(record: RecordedGame) -> dict[int, Thought]:
        reads["thoughts"] += 1
        return {ply: Thought(depth=1) for ply in range(len(record.moves))}

    monkeypatch.setattr(RecordedGame, "thoughts", property(count))
    assert sgf_text(RecordedGame("gomoku", "ada", "bob", "*", tuple(range(100)))).count("depth 1") == 100
    assert reads["thoughts"] == 1


def test_names_and_comments_of_nodes_of_other_programs_are_left_out() -> None:
    (placed,) = read_sgf(["(;GM[4]SZ[3]RU[tictactoe];B[bb]N[depth 3]C[a\n", "b];W[aa]N[Opening])"])
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.thoughts, placed.game.comments) == ({}, {})


@pytest.mark.parametrize("scores", [[1.0], ["1"], "1", [None, True], {"0": 1}])
def test_scores_that_do_not_fit_the_moves_are_left_out_of_sgf(scores: object) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "*", (4, 0), more={"scores": scores})
    assert record.scores == []
    assert ";W[aa])" in sgf_text(record)


def test_values_of_sgf_that_are_not_numbers_are_left_out() -> None:
    (placed,) = read_sgf(["(;GM[4]SZ[3]RU[tictactoe];B[bb]V[x];W[aa]V[-1.5];B[cc]V[1e999])"])
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.scores == [None, 1.5, None]


@examples(80)
@given(games=st.lists(played_games(), max_size=4))
def test_a_collection_of_sgf_loses_nothing(games: list[RecordedGame]) -> None:
    text = "".join(sgf_text(game, number) for number, game in enumerate(games, start=1))
    assert [placed.game for placed in read_sgf(text.splitlines(keepends=True))] == games


@examples(80)
@given(record=played_games())
def test_a_psq_file_keeps_moves_names_whole_milliseconds_and_the_result(record: RecordedGame) -> None:
    read_game = read_psq(psq_text(record).splitlines(keepends=True))
    assert (read_game.variant, read_game.moves) == (record.variant, record.moves)
    assert (read_game.first, read_game.second) == (record.first, record.second)
    assert read_game.times_ms in ((), tuple(float(round(time)) for time in record.times_ms[: len(record.moves)]))
    assert read_game.result == record.result
    kept_terminations = ("line", "board_full", "timeout", "adjudicated")
    assert record.termination not in kept_terminations or read_game.termination == record.termination
    assert read_game.occasion.get("event") == record.occasion.get("event")


@examples(60)
@given(record=played_games((*FLAT_VARIANTS, *LAYERED_VARIANTS)))
def test_played_games_have_no_errors(record: RecordedGame) -> None:
    assert record_errors(record) == []


def test_fields_that_other_programs_add_to_a_line_are_kept() -> None:
    line = (
        '{"variant":"tictactoe","first":"a","second":"b","moves":[0,3,1,4,2],"result":"1-0","termination":"line",'
        '"winning_cells":[0,1,2],"opening":{"rule":"swap","opener":"a","stones":3},"event":"cup","n":[1,{"x":null}]}\n'
    )
    (placed,) = read_json_lines([line])
    assert isinstance(placed.game, RecordedGame)
    assert json_line(placed.game) == line


def test_the_name_of_a_file_decides_its_format(tmp_path: Path) -> None:
    games = [
        RecordedGame("gomoku", "a", "b", "1-0", (0, 15, 1, 16, 2, 17, 3, 18, 4), "line", times_ms=(1.0,) * 9),
        RecordedGame("gomoku", "b", "a", "*", (7,), "void"),
    ]
    for name in ("games.jsonl", "games.sgf", f"{tmp_path}/games.psq/"):
        file = name if name.startswith("/") else str(tmp_path / name)
        with writing_games(file) as write:
            for game in games:
                write(game)
        games_of_file = [placed.game for placed in read_games(file)]
        assert [game.moves for game in games_of_file if isinstance(game, RecordedGame)] == [
            game.moves for game in games
        ]
    assert sorted(file.name for file in (tmp_path / "games.psq").iterdir()) == ["000001.psq", "000002.psq"]


def write_all(file: str, games: list[RecordedGame]) -> None:
    with writing_games(file) as write:
        for game in games:
            write(game)


@pytest.mark.parametrize("suffix", [".sgf", ".pgn"])
@pytest.mark.parametrize(
    "more",
    [{}, {"event": "Spring [cup]"}, {"date": "2026-11-24"}, {"event": '"x"', "date": "2026"}, {"date": "2026-11"}],
)
def test_event_and_date_are_written_and_read_back(tmp_path: Path, suffix: str, more: dict[str, str]) -> None:
    file = tmp_path / f"games{suffix}"
    write_all(str(file), [RecordedGame("gomoku", "a", "b", "*", (7,), "void", more=more)])
    (placed,) = read_games(str(file))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.more == more


def test_events_and_dates_of_other_programs_are_read() -> None:
    (pgn,) = read_pgn(
        '[Event "?"]\n[Date "2022.01.??"]\n[White "a"]\n[Black "b"]\n[Result "*"]\n'.splitlines(keepends=True)
    )
    (sgf,) = read_sgf(["(;SZ[15]EV[y x x]DT[2022.01.03 17:04:09])"])
    assert isinstance(pgn.game, RecordedGame)
    assert isinstance(sgf.game, RecordedGame)
    assert (pgn.game.more, sgf.game.more) == ({"date": "2022-01"}, {"event": "y x x", "date": "2022-01-03"})


@pytest.mark.parametrize("name", ["games.jsonl", "games.sgf", "games.psq", "games.pgn", "games.csv"])
@examples(60)
@given(record=played_games(("gomoku", "mnk:30,6,5")), first=HOSTILE_NAMES, second=HOSTILE_NAMES)
def test_every_format_keeps_hostile_names_or_refuses_them(
    tmp_path_factory: pytest.TempPathFactory, name: str, record: RecordedGame, first: str, second: str
) -> None:
    file = str(tmp_path_factory.mktemp("records") / name)
    game = replace(record, first=first, second=second)
    try:
        write_all(file, [game])
    except RecordError:
        assert name != "games.jsonl"
        return
    (placed,) = read_games(file)
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.first, placed.game.second) == (first, second)
    if not name.endswith((".pgn", ".csv")):
        assert placed.game.moves == game.moves


@pytest.mark.parametrize("name", ["games.jsonl", "games.sgf", "games.psq", "games.pgn", "games.csv"])
@pytest.mark.parametrize("first", ["a\tb", "a  b", "a\u00a0b"])
def test_names_with_unusual_spaces_are_kept_or_refused(tmp_path: Path, name: str, first: str) -> None:
    game = RecordedGame("gomoku", first, "c", "*", (7, 8))
    try:
        write_all(str(tmp_path / name), [game])
    except RecordError:
        assert "\t" in first
        return
    (placed,) = read_games(str(tmp_path / name))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.first == first


@pytest.mark.parametrize(
    "first, second",
    [("", ""), ("", "b"), ("a", ""), ("8,9", "b"), ("a", "8,9,3"), ("2", "-1"), ("7", "b"), ("-1", "a")],
)
def test_a_psq_file_keeps_names_like_moves_and_numbers(first: str, second: str) -> None:
    game = RecordedGame("gomoku", first, second, "*", (7, 8))
    assert read_psq(psq_text(game).splitlines()) == game


@pytest.mark.parametrize(
    "end, names", [("", ("", "")), ("-1\n", ("", "")), ("a\nb\n", ("a", "b")), ("a\nb\n0\n1\n", ("a", "b"))]
)
def test_a_psq_file_of_another_program_can_lack_names_or_its_result(end: str, names: tuple[str, str]) -> None:
    game = read_psq(f"Piskvorky 15x15, 11:11, 0\n8,8,0\n9,8,0\n8,9,0\n{end}".splitlines())
    assert (len(game.moves), game.first, game.second) == (3, *names)


def test_a_psq_file_with_text_among_its_moves_is_an_error() -> None:
    with pytest.raises(RecordError, match="got 'rubbish', expected a move as in `8,8,1250`"):
        read_psq("Piskvorky 15x15, 11:11, 0\n1,1,0\nrubbish\n2,2,0\na\nb\n-1\n".splitlines())


def test_a_psq_file_holds_one_game(tmp_path: Path) -> None:
    game = RecordedGame("gomoku", "a", "b", "*", (7,), "void")
    with pytest.raises(FormatError, match="got more than one game, expected one"):
        write_all(f"{tmp_path}/x.psq", [game, game])


def test_a_file_that_could_not_be_written_completely_is_deleted(tmp_path: Path) -> None:
    games = [RecordedGame(name, "a", "b", "*", (7,), "void") for name in ("gomoku", "qubic")]
    with pytest.raises(RecordError, match="expected a flat board"):
        write_all(f"{tmp_path}/x.sgf", games)
    assert list(tmp_path.iterdir()) == []


def test_an_oblong_board_has_both_sizes() -> None:
    text = sgf_text(RecordedGame("mnk:9,7,4", "a", "b", "*", (9, 62), "void"))
    assert "SZ[9:7]" in text
    assert ";B[ab];W[ig]" in text


# Three games in the form in which c-gomoku-cli writes them.
CLI_GOMOKU = """(;FF[4]GM[4]GN[1]DT[2022.01.03 17:04]RU[0]SZ[20]PB[x]PW[y]RE[B+1]TE[Black win by five connection]
;B[kk]C[opening move];W[kl]C[opening move]
;B[lk]C[1234ms];W[ll]C[5ms];B[mk]C[7ms];W[ml]C[1ms];B[nk]C[2ms];W[nl]C[3ms];B[ok]C[4ms])

(;FF[4]GM[4]GN[2]EV[y x x]DT[2022.01.03 17:04:09]RO[1.2]RU[1]SZ[15]PB[y]PW[x]RE[W+1]TE[White win by time forfeit]
;B[aa]C[12ms])

(;FF[4]GM[4]RU[4]SZ[15]PB[y]PW[x]RE[0]TE[Draw by adjudication];B[hh])
"""


def test_an_agreed_opening_is_kept_in_sgf() -> None:
    opening = {"opening": {"rule": "swap2", "opener": "a, b", "stones": 5}}
    game = RecordedGame("gomoku+swap2", "a, b", "c", "*", (1, 2, 3, 4, 5), "void", more=opening)
    (placed,) = read_sgf(sgf_text(game).splitlines(keepends=True))
    assert placed.game == game


def test_games_of_another_programs_files_are_read() -> None:
    won_game, late_game, drawn_game = (placed.game for placed in read_sgf(CLI_GOMOKU.splitlines(keepends=True)))
    assert isinstance(won_game, RecordedGame)
    assert isinstance(late_game, RecordedGame)
    assert isinstance(drawn_game, RecordedGame)
    assert (won_game.variant, won_game.first, won_game.result, won_game.termination) == ("gomoku20", "x", "1-0", "line")
    assert (won_game.opening_plies, won_game.moves[0], won_game.times_ms[:3]) == (2, 210, (0.0, 0.0, 1234.0))
    assert (late_game.variant, late_game.result, late_game.termination) == ("gomoku:exact", "0-1", "timeout")
    assert (drawn_game.variant, drawn_game.result, drawn_game.termination) == ("renju", "1/2-1/2", "adjudicated")
    assert record_errors(won_game) == record_errors(drawn_game) == []


@pytest.mark.parametrize(
    "rule, variant",
    [("0", "gomoku"), ("1", "gomoku:exact"), ("4", "renju"), ("8", "caro"), ("9", "caro:exact")],
)
@pytest.mark.parametrize("size, suffix", [("15", ""), ("20", ":20")])
def test_sgf_rule_numbers_are_those_of_gomocup(rule: str, variant: str, size: str, suffix: str) -> None:
    (placed,) = read_sgf([f"(;FF[4]RU[{rule}]SZ[{size}])"])
    assert isinstance(placed.game, RecordedGame)
    assert variant_of(placed.game.variant) == variant_of("gomoku20" if rule + size == "020" else variant + suffix)


@st.composite
def tag_sections(draw: st.DrawFn) -> tuple[dict[str, str], str]:
    """The tags of a game in any order, and what follows them: blank lines or the game's moves."""
    tags = {"White": draw(NAMES), "Black": draw(NAMES), "Result": draw(st.sampled_from(["1-0", "0-1", "1/2-1/2", "*"]))}
    more = draw(st.dictionaries(st.sampled_from(["Event", "Round", "Variant"]), st.just("gomoku")))
    if date := draw(st.none() | st.dates()):
        more["Date"] = str(date).replace("-", ".")
    names = draw(st.permutations(sorted(tags | more)))
    end = draw(st.sampled_from(["\n", "\n\n", f"\n{tags['Result']}\n\n", f"1. h8 {tags['Result']}\n"]))
    return {name: (tags | more)[name] for name in names}, end


@examples(80)
@given(games=st.lists(tag_sections(), max_size=5))
def test_a_pgn_file_has_a_game_for_each_tag_section(games: list[tuple[dict[str, str], str]]) -> None:
    escaped = str.maketrans({"\\": "\\\\", '"': '\\"'})
    text = "".join(
        "".join(f'[{name} "{value.translate(escaped)}"]\n' for name, value in tags.items()) + end for tags, end in games
    )
    expected = [
        RecordedGame(
            tags.get("Variant", ""),
            tags["White"],
            tags["Black"],
            tags["Result"],
            more={
                name.lower(): tags[name].replace(".", "-") if name == "Date" else tags[name]
                for name in ("Event", "Date", "Round")
                if name in tags
            },
        )
        for tags, _ in games
    ]
    assert [placed.game for placed in read_pgn(text.splitlines(keepends=True))] == expected


def test_pgn_tags_without_blank_lines_begin_a_game_with_the_next_white() -> None:
    tags = '[White "{}"]\n[Black "c"]\n[Result "1-0"]\n'
    placed_games = read_pgn((tags.format("a") + tags.format("b")).splitlines(keepends=True))
    assert [(placed.line, placed.game) for placed in placed_games] == [
        (1, RecordedGame("", "a", "c", "1-0")),
        (4, RecordedGame("", "b", "c", "1-0")),
    ]


def test_a_pgn_game_can_have_a_blank_line_among_its_tags() -> None:
    (placed,) = read_pgn(['[White "a"]\n', "\n", '[Black "b"]\n', '[Result "1-0"]\n'])
    assert placed == (1, RecordedGame("", "a", "b", "1-0"), "")


@pytest.mark.parametrize(
    "text, message",
    [
        ("(;FF[4]SZ[15];B[zz])", "got the move [zz], expected cells of 15x15"),
        ("(;FF[4]SZ[15];B[h])", "got the move [h], expected two letters"),
        ("(;FF[4]SZ[big];B[hh])", "got the size SZ[big]"),
        ("(;FF[4]SZ[15];B[hh];B[hi])", "two moves by B in a row, B[hi]"),
        ("(;FF[4]SZ[15]RE[B gave up])", "got the result RE[B gave up]"),
        ("(;FF[4]GM[1]SZ[19];B[hh])", "got another game, GM[1], expected GM[4]"),
        ("(;FF[4]SZ[15]AB[hh][ii];W[aa])", "got stones that are set up, AB[...]"),
        ("(;FF[4]SZ[15];B[hh]C[1e999ms])", "got the time 1e999ms"),
        ("(;FF[4]RU[4]SZ[11])", "got the rule RU[4] with SZ[11]"),
        ("(;FF[4]SZ[15];B[hh]", "a tree that does not end"),
        ("(", "a tree that does not end"),
        ("(;FF[4] ?)", "got '?)'"),
    ],
)
def test_errors_of_sgf_name_the_line_where_the_game_begins(text: str, message: str) -> None:
    placed = list(read_sgf(["(;GM[4]SZ[15])\n", "\n", text]))
    assert isinstance(placed[0].game, RecordedGame)
    assert placed[1].line == 3
    assert message in str(placed[1].game)


def test_a_file_without_games_is_an_error_and_an_empty_one_is_not() -> None:
    for read in (read_sgf, read_pgn):
        (placed,) = read(["no game\n", "at all\n"])
        assert isinstance(placed.game, RecordError)
        assert list(read([])) == list(read(["\n"])) == []


# Text that persons or mail programs put between games. Only `(;` begins a tree.
TEXT_BETWEEN_TREES = (
    st.text(st.sampled_from("()[];\\ a\n"), max_size=12)
    .map(lambda text: re.sub(r"\((?=\s*;)", "", text.rstrip() + "\n"))
    .filter(lambda text: not re.search(r"\(\s*(;|$)", text))
)


@examples(80)
@given(
    games=st.lists(st.tuples(TEXT_BETWEEN_TREES, played_games(("tictactoe", "gomoku"))), min_size=1, max_size=3),
    end=TEXT_BETWEEN_TREES,
)
def test_text_with_brackets_around_sgf_games_is_ignored(games: list[tuple[str, RecordedGame]], end: str) -> None:
    text = "".join(around + sgf_text(game) for around, game in games) + end
    assert [placed.game for placed in read_sgf(text.splitlines(keepends=True))] == [game for _, game in games]


@pytest.mark.parametrize(
    "before", ["Game (round 1)\n", "a (b [c] (d)\n", "(\n", "(\n\n(see below)\n", "[(", ":-(\n\n", "()"]
)
def test_text_with_brackets_before_sgf_is_not_a_tree(before: str) -> None:
    (placed,) = read_sgf(f"{before}(\n ;SZ[15]\n;B[hh])\n".splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.moves == (112,)
    (nothing,) = read_sgf(before.splitlines(keepends=True))
    assert isinstance(nothing.game, RecordError)


def test_the_first_variation_is_read_and_brackets_in_comments_are_text() -> None:
    text = "(;SZ[15]C[a (comment\\] with; all)];B[hh](;W[hi];B[aa])(;W[hj]))(;SZ[15];B[aa])"
    one, other = (placed.game for placed in read_sgf([text]))
    assert isinstance(one, RecordedGame)
    assert isinstance(other, RecordedGame)
    assert (one.moves, other.moves) == ((112, 127, 0), (0,))


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "an empty file"),
        ("Gomoku 15x15\n1,1,0\n", "expected a line such as `Piskvorky 15x15, 11:11, 0`"),
        ("Piskvorky 15x15, 11:11, 0\n16,1,0\n", "got the move 16,1,0, expected cells of 15x15"),
        ("Piskvorky 15x15, 11:11, 0\n1,1,0\n1,1,0\n2,2,0\n", "which is occupied"),
    ],
)
def test_errors_of_psq_are_reported(text: str, message: str) -> None:
    with pytest.raises(RecordError) as refused:
        read_psq(text.splitlines())
    assert message in str(refused.value)


@pytest.mark.parametrize("times", ["[0, NaN]", "[0, Infinity]", "[0, -1]", f"[0, 1{'0' * 400}]", "[true]"])
def test_invalid_times_are_reported(times: str) -> None:
    line = f'{{"variant": "gomoku", "first": "a", "second": "b", "moves": [0, 1], "result": "*", "times_ms": {times}}}'
    (placed,) = read_json_lines([line])
    assert isinstance(placed.game, RecordError)
    assert "not a list of times" in str(placed.game)


def test_a_heading_of_csv_orders_the_columns() -> None:
    (placed,) = read_csv(["round,Black,White,Result\n", "1,bob,ada,1-0\n"])
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.first, placed.game.second, placed.game.result) == ("ada", "bob", "1-0")


def test_invalid_csv_is_reported() -> None:
    *_, placed = read_csv(["ada,bob,1-0\n", "a" * 200_000])
    assert isinstance(placed.game, RecordError)
    assert placed.line == 2


def test_a_small_psq_board_needs_as_many_in_a_row_as_it_is_wide() -> None:
    game = read_psq(["Piskvorky 3x3, 11:11, 0", "1,1,0", "1,2,0", "2,1,0", "2,2,0", "3,1,0", "a", "b", "-1"])
    assert (game.moves, game.result) == ((0, 3, 1, 4, 2), "1-0")
    assert game.variant == variant_of("mnk:3,3,3").name


def test_a_won_game_of_psq_has_its_result() -> None:
    rows = ["Piskvorky 20x20, 11:11, 0"]
    rows += [f"{column},{row},{column}" for column in range(1, 5) for row in (1, 2)]
    game = read_psq([*rows, "5,1,9", "one.exe", "two.exe", "-1"])
    assert (game.first, game.second, game.result, game.termination) == ("one.exe", "two.exe", "1-0", "line")
    assert last_move(parse_variant("gomoku20"), game.moves).termination is Termination.LINE
    assert game.times_ms[-1] == 9.0


@pytest.mark.parametrize("suffix", [".csv", ".pgn", ".sgf", ".psq"])
def test_written_files_contain_no_control_characters(tmp_path: Path, suffix: str) -> None:
    control_characters, file = "a\x1b]0;x\x07\x9b31m\u202eb", tmp_path / f"games{suffix}"
    game = RecordedGame(
        "gomoku",
        "ada",
        "bob",
        "1-0",
        (112,),
        "resigned",
        more={"event": control_characters, "round": control_characters},
    )
    with writing_games(str(file)) as write:
        write(game)
        with pytest.raises(RecordError, match="expected no control characters"):
            write_all(str(tmp_path / f"other{suffix}"), [replace(game, first=control_characters)])
    text = file.read_text("utf-8")
    assert "a\ufffd]0;x" in text or "a\ufffd\\]0;x" in text
    assert all(letter.isprintable() for letter in text if letter != "\n")
