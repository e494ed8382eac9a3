"""`noughts bot run`: one bot or several, from the command line or from `--config FILE`."""

from __future__ import annotations

import json
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server.cli.conftest import Refusal
from tests.support.children.field import PLAYER
from tests.support.patience import PATIENCE
from tests.support.processes import eventually


def test_several_bots_of_one_process_play_each_other(
    noughts: Any, start: Any, server: str, token: str, tmp_path: Path
) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    program = f"exec:{sys.executable} {PLAYER} {tmp_path / 'notes'} honest"
    with start(f"bot run left=minimax right=random 'far={program}' --no-lock", env) as bots:
        online: set[str] = set()
        while len(online) < 3:
            line = bots.stdout.readline()
            assert line
            name, _, event = line.partition(": ")
            online |= {name} if event == f"online as bots/{name}/versions/1\n" else set()
        noughts("tournament create cup --games 4", env=env)
        for name in ("left", "right", "far"):
            noughts(f"tournament join cup --bot {name}", env=env)
        noughts("tournament start cup", env=env)
        noughts("watch cup", env=env)
        bots.send_signal(signal.SIGTERM)
        assert bots.wait(PATIENCE) == 0
    tournament = json.loads(noughts("tournament show cup --format json", env=env).stdout)
    assert (tournament["games"], sorted(row["name"] for row in tournament["standings"])) == (
        12,
        ["far", "left", "right"],
    )


def test_file_gives_each_bot_its_own_options(
    noughts: Any, start: Any, server: str, token: str, database: str, tmp_path: Path
) -> None:
    bob_token = tmp_path / "bob.token"
    bob_token.write_text(noughts(f"token create --owner bob --db {database}").stdout)
    file = tmp_path / "bots.toml"
    file.write_text(
        f'server = "{server}"\ntoken = "{token}"\nversion = 3\n\n'
        '[bots.left]\nspec = "minimax"\nchallenges = false\nmax-games = 2\n\n'
        f'[bots.right]\nspec = "random"\nversion = "two"\ntoken-file = "{bob_token}"\n'
    )
    with start(f"bot run --config {file} --version 1 --format json") as bots:
        documents = [json.loads(bots.stdout.readline()) for _ in range(2)]
        rows = json.loads(noughts(f"bot list --server {server} --online --format json").stdout)["bots"]
        bots.send_signal(signal.SIGTERM)
        assert bots.communicate(timeout=PATIENCE) == ("", "")
    events = {document["bot"]: document["event"] for document in documents}
    assert events == {"left": "online as bots/left/versions/3", "right": "online as bots/right/versions/two"}
    assert [(row["name"], row["owner"]) for row in rows] == [("left", "alice"), ("right", "bob")]


def test_other_bots_continue_if_one_is_refused(noughts: Any, start: Any, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    with start("bot run 'wrong name=random' right=random", env) as bots:
        assert bots.stderr.readline().startswith("Error: wrong name: the server refused the bot: ")
        assert bots.stdout.readline() == "right: online as bots/right/versions/1\n"
        noughts("bot retire right", env=env)
        bots.send_signal(signal.SIGINT)
        assert bots.wait(PATIENCE) == 130
    errors = noughts("bot run right=random 'wrong name=random'", code=1, env=env).stderr
    assert "Error: 2 of 2 bots failed: " in errors


def test_bots_of_two_owners_seek_games_and_play_them(noughts: Any, start: Any, database: str, server: str) -> None:
    wish = "variant=tictactoe,time=5/move"
    tokens = [noughts(f"token create --owner {owner} --db {database}").stdout.strip() for owner in ("ada", "bob")]
    seeking = [{"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token} for token in tokens]
    lines = [f"bot run {spec} --seek {wish}" for spec in ("ada=random", "bob=minimax")]
    with start(lines[0], seeking[0]), start(lines[1], seeking[1]):
        list_challenges = f"tournament list --challenges --server {server} --format json"
        pairing = eventually(lambda: json.loads(noughts(list_challenges).stdout)["tournaments"])[-1]
    assert sorted(pairing["title"].split(" - ")) == ["ada", "bob"]
    for wrong, words in (("tictactoe", "expected variant, time"), (f"{wish},rating=200x", "a rating range such as")):
        refused = noughts(f"bot run random --name ada --seek {wrong}", code=2, env=seeking[0])
        assert "Error: --seek" in refused.stderr
        assert words in refused.stderr


@pytest.mark.parametrize(
    "content, complaint",
    [
        ("[bots.left\n", "it is not TOML: "),
        ("", "got no bot, expected a table [bots.NAME]"),
        ("bots = 3", "got no bot, expected a table [bots.NAME]"),
        ("[bots.left]\nversion = 1", "[bots.left]: got no spec"),
        (
            '[bots.left]\nspec = "random"\ndepth = 3',
            "[bots.left]: got the key 'depth', expected one of server, tls, tls-ca, insecure, token",
        ),
        ('spec = "random"\n[bots.left]\nspec = "random"', "bots.toml: got the key 'spec', expected one of"),
        ('[bots.left]\nspec = "random"\nmax-games = "many"', "max-games: got 'many', expected a whole number"),
        ('[bots.left]\nspec = "random"\nmax-games = 70000', "max-games: got 70000, expected 0 to 65536"),
        ('[bots.left]\nspec = "random"\nmax-games = true', "max-games: got True, expected one value"),
        ('[bots.left]\nspec = "random"\nchallenges = "no"', "challenges: got 'no', expected true or false"),
        ('[bots.left]\nspec = "random"\ntls = "yes"', "tls: got 'yes', expected true or false"),
        ('[bots.left]\nspec = "random"\nserver = ["a:1"]', "server: got ['a:1'], expected one value"),
        ('[bots.left]\nspec = "random"\nserver = "a"', "'a': expected HOST:PORT"),
        ('[bots.left]\nspec = "random"\ntoken = ""', "[bots.left]: expected a token"),
        ('[bots.left]\nspec = "nobody"', "nobody"),
    ],
)
def test_wrong_file_of_bots_is_refused_with_the_place(
    noughts: Any, tmp_path: Path, content: str, complaint: str
) -> None:
    file = tmp_path / "bots.toml"
    file.write_text(content)
    result = noughts(f"bot run --config {file}", code=2, env={"NOUGHTS_TOKEN": "nou_none"})
    assert complaint in result.stderr


@pytest.mark.parametrize(
    "line",
    [
        "",
        "random --config bots.toml",
        "--config missing.toml",
        "random minimax --name mine",
        "A=random A=minimax",
    ],
)
def test_unclear_choice_of_bots_is_refused(refusal: Refusal, line: str) -> None:
    refusal(f"bot run {line}", code=2, env={"NOUGHTS_TOKEN": "nou_none"})


def test_interrupted_bot_leaves_without_a_traceback(start: Any, server: str, token: str) -> None:
    with start(f"bot run random --server {server} --name mine", {"NOUGHTS_TOKEN": token}) as bot:
        assert "mine" in bot.stdout.readline()
        bot.send_signal(signal.SIGINT)
        _, errors = bot.communicate(timeout=PATIENCE)
    assert bot.returncode == 130
    assert errors == ""


@pytest.mark.parametrize("line, code", [("bot run random --name mine", 130), ("watch", 0)])
def test_two_quick_interrupts_end_a_command_like_one(start: Any, server: str, token: str, line: str, code: int) -> None:
    with start(f"{line} --server {server}", {"NOUGHTS_TOKEN": token}) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    # A second signal that arrives while Python shuts down kills the process.
    assert process.returncode in (code, -signal.SIGINT)
    assert errors == ""


@pytest.fixture
def unused_address() -> Iterator[str]:
    """An address where nothing listens."""
    with socket.socket() as bound_socket:
        bound_socket.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound_socket.getsockname()[1]}"


@pytest.mark.parametrize("spec", ["random", f"exec:{sys.executable} {PLAYER} NOTES honest"])
def test_bot_stops_if_its_first_connection_never_works(
    refusal: Refusal, token: str, unused_address: str, spec: str, tmp_path: Path
) -> None:
    spec = spec.replace("NOTES", str(tmp_path / "notes"))
    line = f"bot run '{spec}' --name mine --no-lock --server {unused_address} --wait 0.3"
    refusal(line, code=1, env={"NOUGHTS_TOKEN": token})


def test_bot_at_a_wrong_address_reports_it_once_and_tries_again(start: Any, token: str, unused_address: str) -> None:
    with start(f"bot run random --server {unused_address}", {"NOUGHTS_TOKEN": token}) as bot:
        first_line = bot.stdout.readline()
        bot.send_signal(signal.SIGINT)
        output, errors = bot.communicate(timeout=PATIENCE)
    assert first_line == (
        f"cannot reach a server at {unused_address} (nothing listens there): is it running, and is that its address?"
        " Trying again in 0.1 s for 60 s\n"
    )
    assert output == errors == ""


@pytest.mark.parametrize("line", ["bot run nextstep:depth=99", "bot run nobody", "bot run exec:./mybot"])
def test_bot_with_a_wrong_spec_does_not_log_in(refusal: Refusal, server: str, token: str, line: str) -> None:
    refusal(line, code=2, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token})


def test_bot_with_a_wrong_name_is_refused_with_the_reason(refusal: Refusal, server: str, token: str) -> None:
    env = {"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token}
    refusal("bot run random --name 'my bot'", code=1, env=env)


def test_refusal_of_a_second_bot_names_the_token_to_create(
    noughts: Any, refusal: Refusal, server: str, database: str
) -> None:
    token = noughts(f"token create --owner ada --scope play:one --db {database}").stdout.strip()
    refusal("bot run random --name two", code=1, env={"NOUGHTS_SERVER": server, "NOUGHTS_TOKEN": token})
