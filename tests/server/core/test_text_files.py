"""Text files in other encodings: they are read in the right one, or refused with the place of the wrong byte."""

import re
from pathlib import Path

import pytest

from noughts_referee.rules import parse_variant
from noughts_server.core.text_files import TextLines, UnknownEncoding, WrongBytes
from noughts_server.leagues.course import LeagueProblem
from noughts_server.leagues.students import Student, read_class
from noughts_server.openings.reading import OpeningsFileError, read_openings_file
from noughts_server.openings.settings import Openings
from noughts_server.records.formats import Dialect, read_games
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.results_file import ResultsError, read_results
from noughts_server.tables.recorded_game import RecordedGame

TEXTS = {
    "gb18030": "强手,弱手",
    "gbk": "张三,李四",
    "big5": "許功蓋,蓋世",
    "shift_jis": "表示,ソ連",  # second bytes 0x5C, the backslash of SGF and PGN
    "euc_kr": "바둑,오목",
    "euc_jp": "先手,後手",
    "iso2022_jp": "先手,後手",
    "latin-1": "Müller,Ångström",
    "koi8-r": "Иван,Пётр",
    "utf-16": "Иван,先手",
    "utf-16-le": "Ivan,Pjotr",
    "utf-16-be": "Ivan,Pjotr",
    "utf-32": "Ivan,Пётр",
    "utf-8-sig": "Müller,先手",
}
WITH_BYTE_ORDER_MARK = ("utf-16", "utf-32", "utf-8-sig")
SGF_GAME = "(;GM[4]FF[4]{}SZ[15]PB[{}]PW[{}]RE[B+];B[ch];W[cj];B[dh];W[dj];B[eh];W[ej];B[fh];W[fj];B[gh])\n"
GAME_FILES = {
    ".sgf": SGF_GAME.format("", "{}", "{}"),
    ".pgn": '[White "{}"]\n[Black "{}"]\n[Result "1-0"]\n\n1-0\n',
    ".csv": "{},{},1-0\n",
    ".psq": "Piskvorky 15x15, 11:11, 0\n3,8,0\n{}\n{}\n-1\n1,Freestyle\n",
    ".jsonl": '{{"variant":"gomoku","first":"{}","second":"{}","moves":[1],"result":"1-0"}}\n',
}


def write_game(folder: Path, suffix: str, encoding: str, ending: str = "\n") -> Path:
    file = folder / f"games{suffix}"
    text = GAME_FILES[suffix].format(*TEXTS[encoding].split(",")).replace("\n", ending)
    file.write_bytes(text.encode(encoding))
    return file


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("suffix", GAME_FILES)
@pytest.mark.parametrize("encoding", TEXTS)
def test_names_in_every_encoding_are_read(tmp_path: Path, encoding: str, suffix: str, ending: str) -> None:
    file = write_game(tmp_path, suffix, encoding, ending)
    dialect = Dialect() if encoding in WITH_BYTE_ORDER_MARK else Dialect(encoding=encoding)
    (placed,) = read_games(str(file), dialect=dialect)
    assert isinstance(placed.game, RecordedGame)
    assert [placed.game.first, placed.game.second] == TEXTS[encoding].split(",")


@pytest.mark.parametrize("suffix", GAME_FILES)
@pytest.mark.parametrize("encoding", sorted(TEXTS.keys() - set(WITH_BYTE_ORDER_MARK)))
def test_refusal_of_an_encoding_names_the_place_and_the_option(tmp_path: Path, encoding: str, suffix: str) -> None:
    file = write_game(tmp_path, suffix, encoding)
    placed = list(read_games(str(file)))[-1]
    assert isinstance(placed.game, RecordError)
    assert "at offset " in placed.game.got
    assert "or name its encoding: --encoding " in placed.game.fix
    with pytest.raises(ResultsError) as refused:
        read_results(file)
    assert refused.value.fix == placed.game.fix


@pytest.mark.parametrize(
    "encoding", ["GB2312", "gbk", "Shift_JIS", "Big5", "EUC-KR", "ISO-8859-1", "UTF-8", "windows-1251"]
)
def test_sgf_names_its_encoding(tmp_path: Path, encoding: str) -> None:
    names = {"Shift_JIS": ("表示", "ソ連"), "ISO-8859-1": ("Müller", "Ångström"), "windows-1251": ("Иван", "Пётр")}
    file, players = tmp_path / "games.sgf", names.get(encoding, ("六子", "小子"))
    file.write_bytes(SGF_GAME.format(f"CA[{encoding}]", *players).encode(encoding))
    (placed,) = read_games(str(file))
    assert isinstance(placed.game, RecordedGame)
    assert (placed.game.first, placed.game.second) == players


def test_a_game_of_sgf_in_another_encoding_than_its_file_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "games.sgf"
    texts = [SGF_GAME.format("CA[GB18030]", "张三", "李四").encode("gb18030")]
    texts += [SGF_GAME.format("CA[UTF-8]", *names).encode() for names in (("ada", "bob"), ("张三", "李四"))]
    file.write_bytes(b"".join(texts))
    one, ascii_only, other = (placed.game for placed in read_games(str(file)))
    assert isinstance(one, RecordedGame)
    assert isinstance(ascii_only, RecordedGame)
    assert "got a game with CA[UTF-8], expected one encoding in a file (gb18030)" in str(other)


def test_offset_and_line_of_a_wrong_byte_are_exact_in_a_long_file(tmp_path: Path) -> None:
    file = tmp_path / "long"
    for length in (65_533, 65_534, 65_535, 65_536, 200_000):
        before = b"a\r\n" * (length // 3) + b"x" * (length % 3)
        file.write_bytes(before + b"\xd5\xc5\n")
        with pytest.raises(WrongBytes) as refused, TextLines(file) as lines:
            list(lines)
        assert f"the byte 0xD5, which is not utf-8, at offset {length:,}" in refused.value.got
        assert refused.value.line == length // 3 + 1


@pytest.mark.parametrize("suffix", [".pgn", ".csv", ".jsonl", ".sgf"])
def test_concatenated_files_with_byte_order_marks_are_read(tmp_path: Path, suffix: str) -> None:
    file = tmp_path / f"games{suffix}"
    header = "white,black,result\n" if suffix == ".csv" else ""
    file.write_bytes((header + GAME_FILES[suffix].format("ada", "bob")).encode("utf-8-sig") * 3)
    games = [placed.game for placed in read_games(str(file))]
    assert [(game.first, game.second) for game in games if isinstance(game, RecordedGame)] == [("ada", "bob")] * 3
    assert len(games) == 3


@pytest.mark.parametrize("encoding", ["undefined", "punycode", "utf-16"])
def test_encodings_whose_errors_name_no_byte_are_refused(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "games.sgf"
    file.write_text(SGF_GAME.format(f"CA[{encoding}]", "ada", "bob-"), encoding="utf-8")
    (placed,) = read_games(str(file))
    assert isinstance(placed.game, RecordError)
    assert re.search("got bytes that are not .*, at offset 0", str(placed.game))


def test_an_unknown_encoding_is_refused(tmp_path: Path) -> None:
    for name in ("klingon", "rot13", "base64"):
        with pytest.raises(UnknownEncoding, match=f"--encoding '{name}': expected a known encoding, e.g. gb18030"):
            TextLines(tmp_path / "any", name, option="--encoding")


def test_openings_in_another_encoding_need_a_byte_order_mark(tmp_path: Path) -> None:
    file, gomoku = tmp_path / "book.txt", parse_variant("gomoku")
    for encoding in ("utf-8-sig", "utf-16", "utf-32"):
        file.write_bytes("# 开局\r\nh8 i9\r\n".encode(encoding))
        assert read_openings_file(Openings(), file, gomoku).listed == ((112, 98),)
    file.write_bytes("# 开局\nh8 i9\n".encode("gb18030"))
    with pytest.raises(OpeningsFileError, match=r"line 1: got the byte 0xBF, .*Fix: Save the file as UTF-8"):
        read_openings_file(Openings(), file, gomoku)


def test_class_list_can_be_exported_from_a_spreadsheet(tmp_path: Path) -> None:
    file, text = tmp_path / "class.csv", "login\tname\r\nada\tAda Müller\r\nbob\tBob\r\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        file.write_bytes(text.encode(encoding))
        assert read_class(file) == [Student("ada", "Ada Müller"), Student("bob", "Bob")]
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(LeagueProblem, match=r"class\.csv, line 2: got the byte 0xFC, .*, at offset 21") as refused:
        read_class(file)
    assert refused.value.hint == "Save the file as UTF-8."
