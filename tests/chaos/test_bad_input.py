"""Random bytes, lines, files and arguments: they are read, or refused with an error message.

`NOUGHTS_EXAMPLES=100000` tests more examples than the default 100.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from noughts_bots import TimeLimits
from noughts_bots.gomocup.conversation import Conversation, Terms
from noughts_bots.gomocup.options import EngineOptions
from noughts_bots.gomocup.protocol import Lines
from noughts_bots.reference.specs import parse_spec
from noughts_bots.sdk.errors import BotError
from noughts_referee.children.framing import Framing, InvalidFrame, JsonLines, LengthPrefixed
from noughts_referee.clock import TimeControlError, parse_time_control
from noughts_referee.rules import VariantError, parse_variant
from tests.support.command_line import invoke

_EXAMPLES = int(os.environ.get("NOUGHTS_EXAMPLES", "100"))
_SETTINGS = settings(
    max_examples=_EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
_FRAMES = (
    b"\x07\x00\x00\x00\x0a\x05\x08\x01\x12\x01x",
    b'{"hello": {"protocol": 1, "bot": "x"}}\n{"moves": {"game": [1], "ply": [0], "cell": [4]}}\n',
)
_GOMOCUP = (b"OK\r\n7,7\r\nMESSAGE thinking\r\nERROR no\r\nUNKNOWN\r\n", b'name="x", version="1"\nSUGGEST 3,3\nSWAP\n')
_FILES = {
    "games.jsonl": b'{"variant": "tictactoe", "first": "a", "second": "b", "result": "1-0", "termination": "line",'
    b' "moves": [0, 3, 1, 4, 2]}\n',
    "games.sgf": b"(;FF[4]GM[4]SZ[15]PB[a]PW[b]RE[B+5];B[hh];W[ii](;B[hi])(;B[ih]))",
    "game.psq": b"Piskvorky 15x15, 11:11, 1\n8,8,100\n7,7,200\n9,9,50\na.zip\nb.zip\n0\n",
    "games.pgn": b'[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1-0\n',
    "games.csv": b"white,black,result\na,b,1-0\nb,a,1/2-1/2\na,c,*\n",
    "openings.txt": b'# openings\n0,0, 1,1, -1,2\nh8 i9\n{"variant": "gomoku", "moves": [112, 128]}\n',
    "positions.txt": b"X.. .O. ... X\n",
}
_COMMANDS = {
    "records check {}": ("games.jsonl", "games.sgf", "game.psq"),
    "records list {}": ("games.jsonl", "games.sgf"),
    "records show {} 1": ("games.jsonl", "games.sgf", "game.psq"),
    "records convert {} {out}.jsonl": ("games.jsonl", "games.sgf", "game.psq"),
    "records sample {}": ("games.jsonl",),
    "rate {}": ("games.csv", "games.jsonl"),
    "match random random --variant gomoku --dry-run --openings {}": ("openings.txt",),
    "rules tictactoe {}": ("positions.txt",),
    "match table:file={} random --dry-run": ("positions.txt",),
}
_WORDS = st.one_of(
    st.sampled_from(
        ["", "0", "-1", "1e9", "random", "minimax:depth=x", "1/move", "60+0.5", "tictactoe", "mnk:3,3,3", "x" * 300]
    ),
    st.text(max_size=12),
)
# Commands that end by themselves and connect to no server, whatever their arguments are.
_SAFE = ("variants", "rules", "records list", "records check", "rate", "sprt", "token list", "match", "tournament run")


@st.composite
def damaged(draw: st.DrawFn, samples: Sequence[bytes]) -> bytes:
    """Draw one of the samples with a few changes, or random bytes."""
    data = bytearray(draw(st.sampled_from([*samples, b""])))
    for _ in range(draw(st.integers(0, 5))):
        place = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 12))
        data[place : place + length] = draw(
            st.one_of(st.binary(max_size=12), st.just(bytes(data[place:])), _edge_values)
        )
    return bytes(data)


_edge_values = st.sampled_from(
    [b"-1", b"1e308", b"99999999999999999999", b"NaN", b"null", b"[[[[", b"\x00", b"\xff", b"\xe2\x80\xae", b'"']
)


@pytest.mark.parametrize("framing", [LengthPrefixed(), JsonLines()], ids=["length", "json"])
@_SETTINGS
@given(damaged(_FRAMES), st.integers(1, 40))
def test_output_of_children_is_frames_or_a_fault(framing: Framing, data: bytes, piece: int) -> None:
    buffer = bytearray()
    with suppress(InvalidFrame):
        for begin in range(0, len(data), piece):
            buffer += data[begin : begin + piece]
            framing.has_message(buffer)
            while (message := framing.take(buffer)) is not None:
                framing.read(message)


@_SETTINGS
@given(damaged(_GOMOCUP), st.lists(st.sampled_from(["tell", "ask", "restart", "forget", "settle"]), max_size=6))
def test_conversation_reads_any_output_of_an_engine(data: bytes, calls: list[str]) -> None:
    lines = Lines()
    output_lines = [*lines.feed(data), *lines.rest()]
    talk = Conversation(Terms(15, 15, 0, TimeLimits(move=1.0)), EngineOptions())
    methods: dict[str, Callable[[], object]] = {
        "tell": lambda: talk.send_terms("/tmp"),
        "ask": lambda: talk.ask([112], 1_000_000),
        "restart": talk.restart,
        "forget": talk.forget,
        "settle": talk.settle,
    }
    for number, line in enumerate(output_lines):
        talk.read_line(line)
        if number < len(calls):
            methods[calls[number]]()


@_SETTINGS
@given(_WORDS)
def test_typed_names_are_read_or_refused(text: str) -> None:
    with suppress(VariantError):
        parse_variant(text)
    with suppress(TimeControlError):
        parse_time_control(text)
    with suppress(BotError):
        parse_spec(text)


def _run(words: Sequence[str]) -> None:
    """Run a command. Its exit code must be 0, 1 or 2, and it must print a message if it fails."""
    result = invoke(words, code=None)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise AssertionError(f"{words}: no message but {result.exception!r}") from result.exception
    assert result.exit_code in (0, 1, 2), (words, result.stdout, result.stderr)
    assert result.exit_code == 0 or result.stderr or result.stdout, words


@pytest.mark.at_length
@pytest.mark.parametrize("line, file", [(line, file) for line, files in _COMMANDS.items() for file in files])
@settings(_SETTINGS, max_examples=max(10, _EXAMPLES // 8))
@given(data=st.data())
def test_damaged_file_is_read_or_refused_with_a_message(line: str, file: str, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder, file)
        path.write_bytes(data.draw(damaged([_FILES[file]])))
        _run([word.format(path, out=Path(folder, "out")) for word in line.split()])


@pytest.mark.parametrize("command", _SAFE)
@settings(_SETTINGS, max_examples=max(10, _EXAMPLES // 8))
@given(data=st.data())
def test_random_arguments_are_accepted_or_refused_with_a_message(command: str, data: st.DataObject) -> None:
    options = [
        "--variant",
        "--games",
        "--time",
        "--seed",
        "--format",
        "--openings",
        "--limit",
        "--margin",
        "--db",
        "--x",
    ]
    words = data.draw(st.lists(st.one_of(_WORDS, st.sampled_from(options)), max_size=5))
    dry_run = ["--dry-run"] if command in ("match", "tournament run") else []
    with TemporaryDirectory() as folder:
        database = ["--db", f"{folder}/x.db"] if command == "token list" else []
        previous_folder = Path.cwd()
        os.chdir(folder)
        try:
            _run([*command.split(), *dry_run, *database, *words])
        finally:
            os.chdir(previous_folder)
