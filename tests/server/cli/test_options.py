"""Values of options: margins, opening rules, addresses, tokens and seeds."""

from __future__ import annotations

from pathlib import Path

import pytest

from noughts_server.cli import connection
from noughts_server.cli.errors import UsageProblem
from noughts_server.cli.options.game import read_seed, read_variant
from noughts_server.cli.options.time import read_margin


@pytest.mark.parametrize(
    "text, microseconds",
    [("50ms", 50_000), ("0.05", 50_000), ("0.05s", 50_000), ("1", 1_000_000), ("0", 0), (" 2.5MS ", 2_500)],
)
def test_margin_is_milliseconds_or_seconds(text: str, microseconds: int) -> None:
    assert read_margin(text) == microseconds


def test_a_rule_for_the_opening_joins_the_variant_or_is_refused() -> None:
    assert read_variant("gomoku").name == "gomoku"
    assert read_variant("mnk:15,15,5", "pro").name == "gomoku+pro"
    with pytest.raises(UsageProblem, match="--opening-rule 'swop': expected `pro` or `long-pro` or `swap` or `swap2`"):
        read_variant("gomoku", "swop")
    with pytest.raises(UsageProblem, match="--opening-rule pro: got --variant tictactoe, expected for `pro` five or"):
        read_variant("tictactoe", "pro")


@pytest.mark.parametrize("text", ["", "ms", "-1", "61", "nan", "inf", "1e999", "5 minutes"])
def test_invalid_margin_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem, match="--margin"):
        read_margin(text)


@pytest.mark.parametrize(
    "text, parts",
    [
        ("127.0.0.1:7450", ("127.0.0.1", 7450)),
        ("[::1]:1", ("::1", 1)),
        ("referee.example.org:443", ("referee.example.org", 443)),
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_address_is_host_and_port(text: str, parts: tuple[str, int]) -> None:
    assert connection.read_address(text, "--server") == parts


@pytest.mark.parametrize(
    "text", ["", "localhost", ":7450", "localhost:", "::1:7450", "h:99999", "h:-1", "h:1²", "http://h:1", "a b:1"]
)
def test_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(UsageProblem, match="HOST:PORT"):
        connection.read_address(text, "--server")


def test_server_comes_from_option_then_environment_then_default(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection.read_server(None) == "127.0.0.1:7450"
    monkeypatch.setenv("NOUGHTS_SERVER", "there:2")
    assert connection.read_server(None) == "there:2"
    assert connection.read_server("here:1") == "here:1"


def test_wrong_server_in_the_environment_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUGHTS_SERVER", "there")
    with pytest.raises(UsageProblem, match="NOUGHTS_SERVER 'there'"):
        connection.read_server(None)


def test_token_comes_from_option_then_file_then_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "token"
    file.write_text("nou_file\nanything else\n")
    assert connection.read_token(None, None) == ""
    monkeypatch.setenv("NOUGHTS_TOKEN", "nou_environment")
    assert connection.read_token(None, None) == "nou_environment"
    assert connection.read_token(None, file) == "nou_file"
    assert not capsys.readouterr().err
    assert connection.read_token("nou_option", file) == "nou_option"
    assert "process list" in capsys.readouterr().err


def test_token_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="nowhere: No such file"):
        connection.read_token(None, tmp_path / "nowhere")


@pytest.mark.parametrize("content", [b"", b"\n", b"two words", b"\xff\xfe", "tök".encode()])
def test_token_file_without_a_token_is_refused_and_not_shown(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(UsageProblem) as raised:
        connection.read_token(None, file)
    assert "two words" not in str(raised.value)


def test_missing_seed_is_random() -> None:
    assert read_seed(0) == 0
    assert len({read_seed(None) for _ in range(4)}) > 1
