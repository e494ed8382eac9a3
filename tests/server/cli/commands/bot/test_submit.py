"""`noughts bot submit`: the server that runs the bots can test a new version against an earlier one."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.processes import environment, first_line, json_of, run_here, started

pytestmark = pytest.mark.processes

BOT = "from noughts_bots import Bot\n\n\nclass Mine(Bot):\n    def choose(self, position):\n        return {}\n"


def test_new_version_plays_a_match_against_an_earlier_one(tmp_path: Path) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path / "data"))
    file = tmp_path / "mine.py"
    file.write_text(BOT.format("position.free[0]"))
    with ExitStack() as stack:
        server_line = "serve --listen 127.0.0.1:0 --no-web --accept py --format json"
        address = json.loads(first_line(stack.enter_context(started(server_line.split(), data))))["grpc"]
        scopes = "--scope play --scope submit --scope organise"
        token = json_of(f"token create --owner ada {scopes}", data)["token"]
        env = {**data, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": token}
        assert json_of(f"bot submit {file}", env)["test"] is None
        words = ["bot", "submit", str(file), "--test-against"]
        errors = run_here([*words, "1"], env, code=1).stderr
        assert "--test-against 1: this file is mine, version 1, so there is no new version to test" in errors
        file.write_text(BOT.format("position.free[-1]"))
        errors = run_here([*words, "7"], env, code=1).stderr
        assert "--test-against 7: mine has no such version" in errors
        errors = run_here([*words, "1", "--sprt", "elo0=1"], env, code=2).stderr
        assert "--sprt 'elo0=1': got no elo1" in errors
        assert "--sprt '': got ''" in run_here([*words, "1", "--sprt", ""], env, code=2).stderr
        env_without_play = {
            **env,
            "NOUGHTS_TOKEN": json_of("token create --owner ada --scope submit --scope organise", data)["token"],
        }
        errors = run_here([*words, "1"], env_without_play, code=1).stderr
        assert "--test-against: the token lacks the scope `play`; it has submit organise" in errors
        # A test between hypotheses that are this far apart is decided after a few pairs of games.
        submission = json_of(f"bot submit {file} --test-against 1 --sprt elo0=-1000,elo1=-200", env)
        assert (submission["bot_version"], submission["unchanged"]) == ("bots/mine/versions/2", False)
        assert submission["test"] == "tests/mine-2-vs-mine-1"
        test = json.loads(run_here(["test", "wait", submission["test"], "--format", "json"], env).stdout)
        assert test["match"]["sprt"]["decision"] == "H1"
        assert (test["new_version"], test["base_version"]) == ("bots/mine/versions/2", "bots/mine/versions/1")
        assert (test["title"], test["rated"]) == ("mine@2 against mine@1", False)


def test_refused_bot_is_reported_in_the_words_that_were_typed(tmp_path: Path) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path / "data"))
    sources = {
        "none.py": "x = 1\n",
        "broken.py": "def (:\n",
        "ctype.py": "import ctypes\n",
        "a bot.py": BOT.format("position.free[0]"),
    }
    for name, source in sources.items():
        (tmp_path / name).write_text(source)
    (tmp_path / "torn.zip").write_bytes(b"PK\x03\x04 and no more")
    with ExitStack() as stack:
        server_line = "serve --listen 127.0.0.1:0 --no-web --accept py --format json"
        address = json.loads(first_line(stack.enter_context(started(server_line.split(), data))))["grpc"]
        token = json_of("token create --owner ada --scope submit", data)["token"]
        env = {**data, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": token}
        for typed, complaint in {
            "none.py": "none.py: got '0 classes that are bots', expected one in none.py",
            "broken.py": "broken.py: got 'broken.py: invalid syntax",
            "ctype.py": "import: got 'ctypes at ctype.py:1'",
            "torn.zip": "torn.zip: got 'one that cannot be unpacked",
            "none.py --class a.py:B": "--class a.py:B: got 'no file a.py'",
            "none.py --name a/b": "--name: the bot's name: got 'a/b'",
        }.items():
            name, *options = typed.split()
            errors = run_here(["bot", "submit", str(tmp_path / name), *options], env, code=2).stderr
            # Some messages repeat the path as it was typed, others name only the file.
            assert complaint.replace(name, str(tmp_path / name), 1) in errors or complaint in errors
        submission = json.loads(run_here(["bot", "submit", str(tmp_path / "a bot.py"), "--format", "json"], env).stdout)
        assert submission["bot_version"] == "bots/a_bot/versions/1"


def test_version_is_tested_in_the_first_variant_that_it_declares(tmp_path: Path) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path / "data"))
    file = tmp_path / "mine.py"
    bot = BOT.replace("    def", '    variants = ("connect4",)\n\n    def')
    with ExitStack() as stack:
        server_line = "serve --listen 127.0.0.1:0 --no-web --accept py --format json"
        address = json.loads(first_line(stack.enter_context(started(server_line.split(), data))))["grpc"]
        scopes = "--scope play --scope submit --scope organise"
        token = json_of(f"token create --owner ada {scopes}", data)["token"]
        env = {**data, "NOUGHTS_SERVER": address, "NOUGHTS_TOKEN": token}
        file.write_text(bot.format("position.free[0]"))
        json_of(f"bot submit {file}", env)
        for number, openings in enumerate(("", " --openings random:8")):
            file.write_text(bot.format(f"position.free[-1 - {number}]"))
            submission = json_of(f"bot submit {file} --test-against 1 --sprt elo0=-1000,elo1=-200{openings}", env)
            test = json_of(f"test show {submission['test']}", env)
            assert (test["variant"], test["openings"]["plies"]) == ("connect4", 8)


def test_sprt_without_a_version_to_test_against_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BOT.format("position.free[0]"))
    line = ["bot", "submit", str(file), "--sprt", "elo0=0,elo1=5", "--server", "127.0.0.1:1"]
    assert "expected --test-against VERSION as well" in run_here(line, environment(), code=2).stderr
