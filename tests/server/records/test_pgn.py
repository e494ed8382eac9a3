"""PGN files of other programs: no game is lost, invented or merged."""

import time
from dataclasses import replace

import pytest

from noughts_server.records.pgn import pgn_text, read_pgn
from noughts_server.records.recorded_game import RecordError
from noughts_server.tables.recorded_game import RecordedGame

TAGS = '[White "{}"]\n[Black "{}"]\n[Result "{}"]\n'
GAME = TAGS.format("ada", "bob", "1-0")


def results_or_errors(text: str) -> list[tuple[str, str, str] | str]:
    """Read a PGN text, and return the players and the result of each game, or its error."""
    return [
        str(game) if isinstance(game, RecordError) else (game.first, game.second, game.result)
        for _, game, _ in read_pgn(text.splitlines(keepends=True))
    ]


@pytest.mark.parametrize(
    "tags, names",
    [
        ('[White "ada"]\n[BlackType: "program"]\n[Black "bob"]\n[Result "1-0"]\n', ("ada", "bob")),
        ('[White: "ada"]\n[White-Elo "1"]\n[Eval+ "x"]\n[Black "bob"]\n[Result "1-0"]\n', ("ada", "bob")),
        ('  [Event   "E"  ]\n[ White "ada"]\n[Black "bob" ]\n[Result\t"1-0"]\n', ("ada", "bob")),
        ('[White"ada"]\n[Black"bob"]\n[Result"1-0"]\n', ("ada", "bob")),
        ('[White "ada"] [Black "bob"] [Result "1-0"]\n', ("ada", "bob")),
        ('[white "ada"]\n[BLACK "bob"]\n[result "1-0"]\n', ("ada", "bob")),
        ('[White "the "best" bot"]\n[Black "the \\"best\\" bot]"]\n[Result "1-0"]\n',
         ('the "best" bot', 'the "best" bot]')),
        ('[White "C:\\bots\\ada"]\n[Black "C:\\bots\\"]\n[Result "1-0"]\n', ("C:\\bots\\ada", "C:\\bots\\")),
        ('[White "a;b {c}"]\n[Black "% (d"]\n[Result "1-0"]\n', ("a;b {c}", "% (d")),
        ('{ a }\n[White "ada"]\n{ b\n} ; c\n[Black "bob"] ; d\n[Result "1-0"] { e }\n', ("ada", "bob")),
        ('% a remark\n; another\n[White "ada"]\n%[White "eve"]\n[Black "bob"]\n[Result "1-0"]\n', ("ada", "bob")),
    ],
)  # fmt: skip
@pytest.mark.parametrize("moves", ["\n1. e4 e5 1-0\n\n", "1. e4 e5 1-0\n", "\n\n1-0\n", "", "\n"])
def test_tags_are_read_as_programs_write_them(tags: str, names: tuple[str, str], moves: str) -> None:
    assert results_or_errors((tags + moves) * 2) == [(*names, "1-0")] * 2
    assert results_or_errors((tags + moves).replace("\n", "\r\n")) == [(*names, "1-0")]


INNER = '[White "eve"]\n[Black "mallory"]\n[Result "0-1"]'


@pytest.mark.parametrize(
    "moves",
    [
        f"1. e4 {{ a comment\n{INNER}\nends }} e5 1-0",
        f"1. e4 {{\n{INNER}\n}} {{ 0-1 }} e5 (1... c5 0-1) 1-0",
        f"1. e4 ; {INNER.splitlines()[0]} 0-1\ne5 1-0",
        "1. e4 { ; } e5 $1 $139 2. Nf3!? ( 2. f4 { a ( b } exf4 (2... d5 {x}) ) 1-0",
        "1. e4\n%{ 0-1\ne5 { [%clk 0:01:00] } 1-0",
        "1. e4 {a { b} e5 1-0 { White wins }",
        "1-0 {White forfeits nothing}",
        "1. e4 (1. d4 1-0",
    ],
)
def test_comments_and_variations_are_not_games(moves: str) -> None:
    assert results_or_errors(f"{GAME}\n{moves}\n\n{GAME}\n1-0\n") == [("ada", "bob", "1-0")] * 2


@pytest.mark.parametrize(
    "tag, moves, result",
    [
        ('[Result "*"]\n', "1. e4 0-1", "0-1"),
        ("", "1. e4 0-1", "0-1"),
        ("", "1. e4 1/2-1/2", "1/2-1/2"),
        ("", "1. e4 *", "*"),
        ('[Result "?"]\n', "1. e4 *", "*"),
        ('[Result "1-0"]\n', "1. e4 *", "1-0"),
        ('[Result "½-½"]\n', "1. e4 1/2-1/2", "1/2-1/2"),
        ('[Result " 0\N{EN DASH}1 "]\n', "", "0-1"),
        ('[Result "1-0"]\n', "1. e4 0-1", "got the tag Result 1-0 and 0-1 after the moves, expected the same result"),
        ("", "1. e4 0-1 1-0", "got the results 0-1 and 1-0 after the moves, expected one result"),
        ("", "1. e4", "got no tag Result, expected White, Black and Result"),
        ('[Result "2-0"]\n', "", "got the result '2-0', expected one of 1-0, 1/2-1/2, 0-1, *"),
    ],
)
def test_a_result_is_in_the_tag_or_after_the_moves(tag: str, moves: str, result: str) -> None:
    (game,) = results_or_errors(f'[White "ada"]\n[Black "bob"]\n{tag}\n{moves}\n')
    assert game == (result if result.startswith("got") else ("ada", "bob", result))


@pytest.mark.parametrize(
    "text, message",
    [
        (f"{GAME}\n1. e4 {{ no end\n\n{GAME}\n1-0\n", "got a comment from line 5 that does not end"),
        (
            f"{GAME}\n1. e4 {{ no end\n{GAME}\n1-0 {{ end }}\n",
            "got a comment from line 5 with tags and another comment",
        ),
        ('[White ada]\n[Black "bob"]\n[Result "1-0"]\n', 'got the tag [White ada], expected [White "..."]'),
        ('[White "ada\n[Black "bob"]\n[Result "1-0"]\n', 'got the tag [White "ada, expected [White "..."]'),
        ('[White ""]\n[Black "bob"]\n[Result "1-0"]\n', "got an empty tag White"),
        ('[White "ada"]\n[Result "1-0"]\n', "got no tag Black"),
        ("1. e4 e5 1-0\n", "got no tag White"),
        ("hello\n", "got no tags, expected tags as in"),
    ],
)
def test_unreadable_games_are_errors(text: str, message: str) -> None:
    (error,) = results_or_errors(text)
    assert message in str(error)


def test_rounds_dates_events_and_endings_are_kept() -> None:
    tags = '[Event "Cup"]\n[UTCDate "2026.11.27"]\n[Date "????.??.??"]\n[Round "3"]\n[Termination "Time forfeit"]\n'
    (placed,) = read_pgn((tags + GAME).splitlines(keepends=True))
    more = {"event": "Cup", "date": "2026-11-27", "round": 3}
    assert placed.game == RecordedGame("", "ada", "bob", "1-0", termination="timeout", more=more)
    text = pgn_text(placed.game)
    assert '[Date "2026.11.27"]\n[Round "3"]\n' in text
    assert [placed_game.game for placed_game in read_pgn(text.splitlines(keepends=True))] == [placed.game]
    assert '[Round "?"]' in pgn_text(RecordedGame("", "ada", "bob", "1-0"))


@pytest.mark.parametrize(
    "result, termination_tag, expected",
    [
        ("0-1", "Black win by five connection", ("ada", "bob", "1-0", "line")),
        ("1-0", "Black play forbidden move - double three", ("ada", "bob", "0-1", "illegal_move")),
        ("1-0", "White win by opponent crash", ("ada", "bob", "0-1", "crashed")),
        ("1/2-1/2", "Draw by adjudication", ("ada", "bob", "1/2-1/2", "adjudicated")),
        ("0-1", "normal", ("bob", "ada", "0-1", "")),
    ],
)
def test_black_moved_first_in_files_of_c_gomoku_cli(
    result: str, termination_tag: str, expected: tuple[str, ...]
) -> None:
    tags = f'[Event "1"]\n[Round "1.1"]\n[Black "ada"]\n[White "bob"]\n[Result "{result}"]\n'
    text = f'{tags}[Termination "{termination_tag}"]\n[PlyCount "9"]\n{result}\n\n'
    (placed,) = read_pgn(text.splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.first, placed.game.second, placed.game.result, placed.game.termination) == expected


@pytest.mark.parametrize(
    "comment, termination",
    [
        ("{Black forfeits on time}", "timeout"),
        ("{-M2/10 0.5s, Black loses on time}", "timeout"),
        ("{bob's connection stalls}", "disconnected"),
        ("{Black disconnects}", "disconnected"),
        ("{Black makes an illegal move: e9}", "illegal_move"),
        ("{Black resigns}", "resigned"),
        ("{White mates}", ""),
        ("{a move that wins on time and space}", ""),
    ],
)
def test_the_last_comment_gives_the_termination_if_there_is_no_tag(comment: str, termination: str) -> None:
    (placed,) = read_pgn(f"{GAME}\n1. e4 {{out of time}} e5 {comment} 1-0\n".splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.termination == termination


@pytest.mark.parametrize("comments", ["{" * 300_000, "{ x } " + "{" * 300_000])
def test_braces_without_an_end_take_linear_time(comments: str) -> None:
    began = time.process_time()
    [placed] = read_pgn(['[White "a"]\n', '[Black "b"]\n', '[Result "1-0"]\n', "\n", f"{comments} 1-0\n"])
    assert "a comment from line 5 that does not end" in str(placed.game)
    assert time.process_time() - began < 5  # quadratic time is about 50 s


@pytest.mark.parametrize("name", ["a\\b", "a\\\\b", 'a\\"b', "a\\"])
def test_names_with_backslashes_are_read_as_written(name: str) -> None:
    assert results_or_errors(pgn_text(RecordedGame("", name, "bob", "1-0"))) == [(name, "bob", "1-0")]


def test_two_results_after_the_moves_are_an_error_whatever_the_tag() -> None:
    [error] = results_or_errors(GAME + "\n1. e4 1-0 0-1\n")
    assert isinstance(error, str)
    assert "1-0 and 0-1" in error


def test_a_game_with_scores_has_its_moves_with_what_bots_thought() -> None:
    more = {"scores": [35, -20.5, None], "thoughts": {"0": {"depth": 12, "pv": [112, 97]}, "2": {"time_ms": 5}}}
    record = RecordedGame("gomoku", "ada", "bob", "*", (112, 97, 113), "void", times_ms=(0, 1200, 500), more=more)
    text = pgn_text(record)
    assert text.endswith("\n\n1. h8 {+0.35/12} h9 {-0.205/0 1.2s}\n2. i8\n*\n\n")
    (placed,) = read_pgn(text.splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    kept = {"scores": [35, -20.5, None], "thoughts": {"0": {"depth": 12}}}
    assert placed.game == replace(record, times_ms=(0, 1200, 0), more=kept)
    assert "h8" not in pgn_text(replace(record, more={}))


@pytest.mark.parametrize("termination, more", [("adjudication", {"adjudication": "a b"}), ("normal", {})])
def test_details_of_an_end_are_those_of_an_adjudication(termination: str, more: dict[str, str]) -> None:
    tags = f'[Termination "{termination}"]\n[TerminationDetails "a b"]\n'
    (placed,) = read_pgn((GAME + tags).splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.more == more


@pytest.mark.parametrize("score", [3e38, -3e38, 1e15, 999_999_000_000_000.0, 1e-30, -0.5])
def test_a_score_of_any_size_is_read_again(score: float) -> None:
    record = RecordedGame("gomoku", "ada", "bob", "*", (112,), "void", more={"scores": [score]})
    (placed,) = read_pgn(pgn_text(record).splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.scores == [score]


def test_a_game_of_an_unknown_variant_with_scores_has_only_tags() -> None:
    record = RecordedGame("foreign", "ada", "bob", "1-0", (4, 0), more={"scores": [1, 2]})
    assert pgn_text(record).endswith('[PlyCount "2"]\n\n1-0\n\n')


@pytest.mark.parametrize(
    "moves",
    [
        "1. h8 {+0.35/12} h9 {stalls}\n2. i8 *",  # three moves, as the tag says
        "1. h8 {+0.35/12} (1. a1) h9 2. i8 *",
        "1. h8 {+1e99/12 .5.s} h9 2. i8 *",
    ],
)
def test_comments_of_other_programs_do_not_stop_a_game(moves: str) -> None:
    tags = '[White "ada"]\n[Black "bob"]\n[Result "*"]\n[Variant "gomoku"]\n[PlyCount "3"]\n\n'
    (placed,) = read_pgn(f"{tags}{moves}\n".splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.result == "*"


@pytest.mark.parametrize("moves", ["1. h8 {+0.35/12} h8 2. i8", "1. h8 {+0.35/12} h9", "1. e4 {+0.35/12} Nf6 2. d4"])
def test_moves_that_cannot_be_those_of_the_game_are_not_read(moves: str) -> None:
    tags = '[White "ada"]\n[Black "bob"]\n[Result "*"]\n[Variant "gomoku"]\n[PlyCount "3"]\n\n'
    (placed,) = read_pgn(f"{tags}{moves} *\n".splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.moves, placed.game.scores) == ((), [])


@pytest.mark.parametrize("factor, tag", [(2.0, "2"), (0.333, "0.333")])
def test_the_factor_of_scaled_times_is_a_tag(factor: float, tag: str) -> None:
    record = RecordedGame("tictactoe", "ada", "bob", "1-0", more={"time_factor": factor})
    text = pgn_text(record)
    assert f'[TimeFactor "{tag}"]' in text
    (placed,) = read_pgn(text.splitlines(keepends=True))
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.time_factor == factor


def test_an_invalid_factor_of_another_program_is_left_out() -> None:
    (placed,) = read_pgn(['[TimeFactor "fast"]\n', *GAME.splitlines(keepends=True)])
    assert isinstance(placed.game, RecordedGame)
    assert placed.game.time_factor is None
