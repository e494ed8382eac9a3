"""Words of other programs for the end of a game, and the terminations that they are read as."""

from pathlib import Path

import pytest

from noughts_referee.rules import Termination
from noughts_server.records.endings import termination_of
from noughts_server.records.results_file import read_results

WORDS_BY_CODE = {
    "timeout": ["time forfeit", "Time forfeit", "TIME", "time_forfeit", "Black win by time forfeit", "loses on time",
                "ada won on time", "ran out of time", "timeout", "Time-out", "White's flag fell", "overtime"],
    "illegal_move": ["illegal move", "rules infraction", "Rules Infraction", "White win by opponent illegal move",
                     "Black play forbidden move - double three", "overline", "foul", "makes an illegal move: 9,9"],
    "disconnected": ["abandoned", "ada won - game abandoned", "stalled connection", "White's connection stalls",
                     "disconnect", "Black disconnects", "walkover", "no-show", "forfeit", "death", "lost connection"],
    "crashed": ["crash", "Black win by opponent crash", "engine crashed", "terminated unexpectedly"],
    "resigned": ["resign", "ada won by resignation", "White resigns"],
    "adjudicated": ["adjudication", "White win by adjudication", "emergency", "TB adjudication", "by agreement",
                    "unterminated"],
    "line": ["Black win by five connection", "five in a row"],
    "board_full": ["Draw by fullfilled board", "board full"],
    "": ["normal", "Normal", "", "?"],
    "White mates": ["White mates"],
}  # fmt: skip


@pytest.mark.parametrize("code", WORDS_BY_CODE)
def test_words_of_other_programs_have_a_code(code: str) -> None:
    assert {text: termination_of(text, "1-0") for text in WORDS_BY_CODE[code]} == dict.fromkeys(
        WORDS_BY_CODE[code], code
    )


def test_codes_are_kept_and_games_that_nobody_lost_have_no_fault() -> None:
    codes = [str(termination) for termination in Termination]
    assert [termination_of(code, result) for code in codes for result in ("1-0", "*")] == [
        code for code in codes for _ in range(2)
    ]
    assert termination_of("abandoned", "*") == "void"
    assert termination_of("aborted", "1-0") == "adjudicated"
    assert termination_of("time forfeit", "1/2-1/2") == "adjudicated"


FORFEIT_WORDS = [
    text for code in ("timeout", "illegal_move", "disconnected", "crashed") for text in WORDS_BY_CODE[code]
]
TEMPLATES = {
    ".pgn": '[White "ada"]\n[Black "bob"]\n[Result "{}"]\n[Termination "{}"]\n\n',
    ".csv": 'ada,bob,{},"{}"\n',
    ".sgf": "(;GM[4]SZ[15]PB[ada]PW[bob]RE[{}]TE[{}];B[hh])\n",
    ".jsonl": '{{"variant":"gomoku","first":"ada","second":"bob","moves":[1],"result":"{}","termination":"{}"}}\n',
}


@pytest.mark.parametrize("suffix", TEMPLATES)
def test_forfeits_in_every_format_can_be_left_out(tmp_path: Path, suffix: str) -> None:
    file, result = tmp_path / f"games{suffix}", "B+" if suffix == ".sgf" else "1-0"
    games = [(result, text) for text in FORFEIT_WORDS] + [("Draw" if suffix == ".sgf" else "1/2-1/2", "")] * 20
    head = "first,second,result,termination\n" if suffix == ".csv" else ""
    file.write_text(head + "".join(TEMPLATES[suffix].format(*game) for game in games))
    results, _ = read_results(file, forfeits=False)
    assert sum(results.faults["bob"].values()) == len(FORFEIT_WORDS)
    assert results.scores[("ada", "bob")].wins == 0
    assert read_results(file)[0].scores[("ada", "bob")].wins == len(FORFEIT_WORDS)
