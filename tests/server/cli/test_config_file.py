"""`--config` and `--print-config` of serve, referee and web."""

import json
import signal
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.patience import PATIENCE


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "noughts.toml"


def printed_settings(noughts: Any, line: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    """Return the settings that a command prints with `--print-config`."""
    return tomllib.loads(noughts(f"{line} --print-config", env=env).stdout)


def test_command_line_overrides_environment_file_and_default(noughts: Any, config: Path) -> None:
    config.write_text('grace = 1\nmargin = "1ms"\nabsence = "1m"\n')
    env = {"NOUGHTS_SERVE_GRACE": "2", "NOUGHTS_SERVE_MARGIN": "2ms"}
    settings = printed_settings(noughts, f"serve --config {config} --grace 3", env)
    names = ("reconnect-timeout", "margin", "inactivity-timeout", "network-cap")
    assert [settings[name] for name in names] == ["3s", "2ms", "1m", "100ms"]


def test_printed_configuration_can_be_read_back(noughts: Any, config: Path) -> None:
    line = "serve --no-reflection --limit sessions=7 --limit bots=9 --db games.db --log-level debug --no-web"
    text = noughts(f"{line} --print-config").stdout
    config.write_text(text)
    printed_again = noughts(f"serve --config {config} --print-config").stdout
    assert printed_again == text
    settings = tomllib.loads(text)
    assert (settings["reflection"], settings["set-limit"], settings["no-web"]) == (
        False,
        ["sessions=7", "bots=9"],
        True,
    )
    # A comment above each setting explains it. Settings without a value are comments.
    assert '# Reconnect timeout of a bot\nreconnect-timeout = "30s"\n' in text
    assert '# metrics = "HOST:PORT"\n' in text


def test_no_password_is_printed(noughts: Any) -> None:
    line = "serve --db postgresql://ada:s3cret@db.example/games --bus nats://bo:hidden@bus.example:4222"
    text = noughts(f"{line} --print-config").stdout
    assert '# db = "postgresql://ada:***@db.example/games"\n' in text
    assert '# bus = "nats://bo:***@bus.example:4222"\n' in text
    assert "s3cret" not in text
    assert "hidden" not in text
    assert tomllib.loads(text).keys() & {"db", "bus"} == set()


@pytest.mark.parametrize(
    "address, printed",
    [
        ("postgresql://ada:s3:cret@db/games", "postgresql://ada:***@db/games"),
        ("postgresql://ada:s3/cret@db/games", "postgresql://ada:***@db/games"),
        ("postgresql://ada:s3@cret@db/games", "postgresql://ada:***@db/games"),
        ("postgresql://db/games?password=s3@cret&x=y", "postgresql://db/games?password=***&x=y"),
    ],
)
def test_no_password_with_punctuation_is_printed(noughts: Any, address: str, printed: str) -> None:
    text = noughts(f"serve --db {address} --print-config").stdout
    assert f'# db = "{printed}"\n' in text
    assert "cret" not in text


def test_addresses_without_a_password_are_printed_whole(noughts: Any) -> None:
    settings = printed_settings(noughts, "serve --db sqlite:////tmp/me@work/games.db --bus nats://a:4222,nats://b:4222")
    assert settings["db"] == "sqlite:////tmp/me@work/games.db"
    assert settings["bus"] == "nats://a:4222,nats://b:4222"


def test_each_address_of_a_bus_is_printed_without_its_password(noughts: Any) -> None:
    text = noughts("serve --bus nats://bo:hidden@a:4222,nats://hidden@b:4222 --print-config").stdout
    assert '# bus = "nats://bo:***@a:4222,nats://***@b:4222"\n' in text


def test_no_password_in_a_list_is_printed(noughts: Any) -> None:
    text = noughts("serve --proxy 10.0.0.1 --proxy http://bo:hidden@a --print-config").stdout
    assert '# proxy = ["10.0.0.1", "http://bo:***@a"]\n' in text


def test_a_server_has_the_settings_of_its_file(start: Any, config: Path, tmp_path: Path) -> None:
    config.write_text(
        f'[serve]\nlisten = "127.0.0.1:0"\nno-web = true\ndb = "{tmp_path / "of_file.db"}"\nformat = "json"\n'
    )
    with start(f"serve --config {config}") as process:
        assert json.loads(process.stdout.readline())["web"] is None
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    assert (tmp_path / "of_file.db").exists()


def test_one_file_can_have_a_table_for_each_command(noughts: Any, config: Path) -> None:
    config.write_text('[serve]\ngrace = 4\n[referee]\nseats = 3\n[web]\nserver = "10.0.0.1:7450"\n')
    assert printed_settings(noughts, f"serve --config {config}")["reconnect-timeout"] == "4s"
    assert printed_settings(noughts, f"referee --config {config}")["concurrency"] == 3
    assert printed_settings(noughts, f"web --config {config}")["server"] == "10.0.0.1:7450"
    env = {"NOUGHTS_SERVER": "10.0.0.2:7450"}
    assert printed_settings(noughts, f"web --config {config}", env)["server"] == "10.0.0.2:7450"


@pytest.mark.parametrize(
    "text, complaint",
    [
        ('lisen = "a"', "unknown setting 'lisen'\nDid you mean 'listen'?"),
        ("[serv]", "unknown table 'serv'\nDid you mean 'serve'?"),
        ('grace = "long"', "'--grace': 'long': expected a duration of 0s to 86400s"),
        ("reconnect-timeout = true", '--reconnect-timeout: got true, expected a duration such as "30s"'),
        ('insecure = "yes"', '--insecure: got "yes", expected true or false'),
        ("listen = 7450", "--listen: got 7450, expected text"),
        ('limit = "bots=1"', '--limit: got "bots=1", expected a list of strings'),
        ("grace = -1", "'--grace': '-1': expected a duration"),
        ('margin = "abc"', "--margin 'abc': expected milliseconds"),
        ("grace = ", "noughts.toml: it is not TOML: Invalid value (at end"),
    ],
)
def test_a_wrong_setting_is_explained_in_the_words_of_the_option(
    noughts: Any, config: Path, text: str, complaint: str
) -> None:
    config.write_text(text)
    assert complaint in noughts(f"serve --config {config}", code=2).stderr


def test_a_missing_file_is_named(refusal: Refusal, config: Path) -> None:
    refusal(f"serve --config {config}", code=2)
