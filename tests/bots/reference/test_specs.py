"""Specs are read the same everywhere, and an error about one is a single line."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noughts_bots.reference.coursework import Coursework
from noughts_bots.reference.first_free import FirstFree
from noughts_bots.reference.minimax import Minimax
from noughts_bots.reference.nextstep import NextStep
from noughts_bots.reference.pascal import Pascal
from noughts_bots.reference.random_ import Random
from noughts_bots.reference.registry import REFERENCE_BOTS
from noughts_bots.reference.specs import BotSpec, make_bot, parse_spec, unique_labels
from noughts_bots.reference.three_stage import ThreeStage
from noughts_bots.sdk.errors import BotSpecError
from noughts_proto.child_kinds import CHILD_KINDS, ChildKind
from noughts_referee.rules import parse_variant

TICTACTOE = parse_variant("tictactoe")


@pytest.mark.parametrize(
    "text, expected",
    [
        ("random", BotSpec(None, "reference", "random")),
        ("  random  ", BotSpec(None, "reference", "random")),
        ("pascal:level=1", BotSpec(None, "reference", "pascal", {"level": "1"})),
        ("Old=nextstep:depth=3", BotSpec("Old", "reference", "nextstep", {"depth": "3"})),
        ("Old = nextstep: depth = 3", BotSpec("Old", "reference", "nextstep", {"depth": "3"})),
        ("two words=random", BotSpec("two words", "reference", "random")),
        ("bot:alice-bot", BotSpec(None, "bot", "alice-bot")),
        ("Alice=bot:alice-bot@2", BotSpec("Alice", "bot", "alice-bot@2")),
        ("py:package.module:Class", BotSpec(None, "py", "package.module:Class")),
        ("exec:./player --depth=3", BotSpec(None, "exec", "./player --depth=3")),
        ("./bot.py", BotSpec(None, "py", "./bot.py", {})),
        ("Mine=bot.py:Centre", BotSpec("Mine", "py", "bot.py:Centre", {})),
        ("Mine=exec{dial=true}:python x.py", BotSpec("Mine", "exec", "python x.py", {"dial": "true"})),
        ("dll:./player.so", BotSpec(None, "dll", "./player.so")),
        ("Wine=gomocup{restart=on}:./pbrain-wine", BotSpec("Wine", "gomocup", "./pbrain-wine", {"restart": "on"})),
        ("dll{book=9,memory=2}:a{b}.so", BotSpec(None, "dll", "a{b}.so", {"book": "9", "memory": "2"})),
    ],
)
def test_spec_is_read(text: str, expected: BotSpec) -> None:
    spec = parse_spec(text)
    assert spec == expected
    assert parse_spec(str(spec)) == BotSpec(None, spec.kind, spec.target, spec.options)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("pascal", "pascal"),
        ("pascal:level=1", "pascal:level=1"),
        ("Old=nextstep:depth=3", "nextstep:depth=3"),
        ("Wine=gomocup{restart=on}:./pbrain-wine", "gomocup{restart=on}:./pbrain-wine"),
        ("Alice=bot:alice@2", "bot:alice@2"),
    ],
)
def test_spec_is_shown_as_it_was_written_without_its_label(text: str, expected: str) -> None:
    assert str(parse_spec(text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=random",
        "a=",
        "pascal:",
        "pascal:level",
        "pascal:=1",
        "pascal:level=",
        "pascal:level=1,",
        "pascal:level=1,level=0",
        "py",
        "py:",
        "py{}:target",
        "py{a=1:target",
        "py{a=1}",
        "bot",
        "bot:",
        "bot:@2",
        "bot:alice@",
        "bot{a=1}:alice",
        "pascal{level=1}:target",
    ],
)
def test_unreadable_spec_is_refused_on_one_line(text: str) -> None:
    with pytest.raises(BotSpecError, match=r"^bot .*: got .+, expected .+; .+$") as raised:
        parse_spec(text)
    assert "\n" not in str(raised.value)


@given(st.text(alphabet="abot:={}@,#. random"))
def test_any_text_is_a_spec_or_a_spec_error(text: str) -> None:
    try:
        spec = parse_spec(text)
    except BotSpecError:
        return
    assert str(parse_spec(str(spec))) == str(spec)


def test_error_of_a_spec_carries_its_parts() -> None:
    with pytest.raises(BotSpecError) as raised:
        make_bot(parse_spec("nextstep:depth=12"), TICTACTOE)
    error = raised.value
    assert (error.subject, error.got, error.expected) == ("bot 'nextstep:depth=12', option depth", "12", "1..9")
    assert error.advice == "write nextstep[:depth=1..9]"


@pytest.mark.parametrize("name, meant", [("pascl", "pascal"), ("next-step", "nextstep"), ("Random", "random")])
def test_unknown_name_gets_a_suggestion_and_the_known_names(name: str, meant: str) -> None:
    with pytest.raises(BotSpecError, match=rf"did you mean {meant}\?$") as raised:
        parse_spec(name)
    assert all(known in raised.value.expected for known in ("random", "three-stage", "pascal", "nextstep", "minimax"))


@pytest.mark.parametrize(
    "text, meant",
    [
        ("./player.so", "dll:./player.so"),
        ("./engine", "gomocup:./engine"),
        ("sh bot.py", "is started as 'lines:sh bot.py' "),
        ("my bots/a bot.py", "a Python file is 'py:my bots/a bot.py';"),
        ("Mine=my bot.py", "a Python file is 'Mine=py:my bot.py';"),
        ("it's a bot.py", 'a Python file is "py:it\'s a bot.py";'),
    ],
)
def test_a_file_without_its_kind_gets_the_spec_that_was_meant(text: str, meant: str) -> None:
    with pytest.raises(BotSpecError) as raised:
        parse_spec(text)
    assert re.search(meant, raised.value.advice)


def test_program_with_spaces_in_its_path_gets_a_spec_in_quotes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my bots").mkdir()
    Path("my bots/an engine").touch()
    with pytest.raises(BotSpecError) as raised:
        parse_spec("Mine=my bots/an engine")
    assert "\"Mine=gomocup:'my bots/an engine'\" (a Gomocup engine)" in raised.value.advice


@pytest.mark.parametrize("text", ["my bots/a bot.py", "Mine=my bots/a bot.py", "my bots/a bot.py:Bot"])
def test_python_file_with_spaces_in_its_path_needs_no_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my bots").mkdir()
    Path("my bots/a bot.py").touch()
    label, _, target = text.rpartition("=")
    assert parse_spec(text) == BotSpec(label or None, "py", target)


def test_unknown_name_is_refused_also_in_a_spec_made_by_hand() -> None:
    with pytest.raises(BotSpecError, match="expected one of random, "):
        make_bot(BotSpec(None, "reference", "deepblue"), TICTACTOE)


@pytest.mark.parametrize(
    "text, complaint",
    [
        ("nextstep:depth=0", "option depth: got 0, expected 1..9"),
        ("nextstep:depth=deep", "option depth: got deep, expected 1..9"),
        ("pascal:level=2", "option level: got 2, expected 0..1"),
        ("nextstep:dept=3", r"got option dept, expected one of depth; did you mean depth\?"),
        ("coursework:level=3", "option level: got 3, expected 1..2"),
        ("minimax:faster=yes", r"option faster: got yes, expected true\|false"),
        ("minimax:depth=0", "option depth: got 0, expected 1..9"),
        ("random:level=1", "got option level, expected no options; write random"),
    ],
)
def test_a_wrong_option_is_refused_with_the_allowed_values(text: str, complaint: str) -> None:
    with pytest.raises(BotSpecError, match=complaint):
        make_bot(parse_spec(text), TICTACTOE)


@pytest.mark.parametrize("kind", ["py", "dll", "exec", "gomocup"])
def test_foreign_code_is_recognised_but_not_made_in_this_process(kind: str) -> None:
    spec = parse_spec(f"{kind}:target")
    assert spec.kind == kind
    with pytest.raises(BotSpecError, match="needs a separate process"):
        make_bot(spec, TICTACTOE)


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        BotSpecError,
        match=r"got name 'jar', expected one of random, .* py:, dll:, wasm:, gomocup:, lines:, gtp:, exec:",
    ):
        parse_spec("jar:player.jar")


@pytest.mark.parametrize("kind", CHILD_KINDS.values())
def test_each_hosted_kind_has_a_module_that_loads_it(kind: ChildKind) -> None:
    assert (find_spec(f"noughts_bots.hosts.{kind.name}") is not None) is kind.hosted


def test_a_bot_on_a_server_is_not_made_from_its_spec() -> None:
    with pytest.raises(BotSpecError, match="got a bot registered on a server"):
        make_bot(parse_spec("bot:alice"), TICTACTOE)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("random", Random),
        ("three-stage", ThreeStage),
        ("pascal", Pascal),
        ("Label=nextstep", NextStep),
        ("minimax", Minimax),
        ("first-free", FirstFree),
        ("coursework:level=1", Coursework),
    ],
)
def test_reference_bot_is_made_from_its_spec(text: str, expected: type) -> None:
    assert type(make_bot(parse_spec(text), TICTACTOE)) is expected


def test_options_reach_the_bot() -> None:
    pascal, nextstep = (make_bot(parse_spec(text), TICTACTOE) for text in ("pascal:level=0", "nextstep:depth=3"))
    assert isinstance(pascal, Pascal)
    assert pascal.level == 0
    assert isinstance(nextstep, NextStep)
    assert nextstep.depth == 3
    minimax = make_bot(parse_spec("minimax:faster=true,depth=3"), TICTACTOE)
    assert isinstance(minimax, Minimax)
    assert (minimax.faster, minimax.depth) == (True, 3)


def test_every_reference_bot_is_listed() -> None:
    boards_by_syntax = {row.syntax: row.bot.boards for row in REFERENCE_BOTS.values()}
    assert boards_by_syntax == {
        "random": "every variant",
        "first-free": "every variant",
        "three-stage": "tictactoe",
        "coursework[:level=1..2]": "tictactoe",
        "pascal[:level=0..1]": "tictactoe",
        "nextstep[:depth=1..9]": "every variant but renju and caro",
        "minimax[:faster=true|false,depth=1..9]": (
            "at most 16 cells (10 if faster); all but renju and caro with depth=N"
        ),
        "perfect": (
            "boards of at most 16 cells, boards of at most 28 cells with lines of 3, and connect4 with the extra "
            "`connect4`"
        ),
        "fives": "every variant whose lines have the same length",
        "table:file=FILE[,level=0..1]": "the variant of its file",
        "learner:file=FILE[,learn=true|false]": "the variant of its file, of at most 12 cells",
        "level:elo=1000..2900": "tictactoe, connect4, gomoku and qubic, each up to its highest level",
        "threats[:nodes=1..10000000]": "every m,n,k game, all of five in a row, tictactoe3d and qubic; not connect4",
    }
    assert all(info.description and "\n" not in info.description for info in REFERENCE_BOTS.values())


@pytest.mark.parametrize(
    "texts, labels",
    [
        ((), []),
        (("random", "minimax"), ["random", "minimax"]),
        (("random", "random", "random"), ["random", "random#2", "random#3"]),
        (("A=random", "random", "B=random"), ["A", "random", "B"]),
        (("random", "random", "random#2=minimax"), ["random", "random#3", "random#2"]),
        (("random", "random=minimax"), ["random#2", "random"]),
        (("pascal", "pascal:level=1"), ["pascal", "pascal:level=1"]),
    ],
)
def test_labels_are_unique(texts: tuple[str, ...], labels: list[str]) -> None:
    assert unique_labels(map(parse_spec, texts)) == labels


def test_label_given_twice_is_an_error() -> None:
    with pytest.raises(BotSpecError, match=r"^labels: got 'A' twice, expected each label once; "):
        unique_labels(map(parse_spec, ("A=random", "A=minimax")))


@pytest.mark.parametrize("text", ["x" * 5_000, "a b" * 2_000 + ".py", "~nobody-here/a b.py", "~\0/a b.py"])
def test_a_text_that_cannot_be_a_path_is_an_unknown_bot(text: str) -> None:
    with pytest.raises(BotSpecError, match="expected one of random"):
        parse_spec(text)
