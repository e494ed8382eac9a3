"""A league for a class, from its list of students to their reports."""

import csv
import json
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.request import urlopen

import pytest

from noughts_server.client.client import connected
from noughts_server.leagues.course_folder import CourseFolder
from noughts_server.leagues.nights import play_night
from noughts_server.openings.settings import Openings
from tests.support.authority import Authority
from tests.support.patience import PATIENCE
from tests.support.processes import environment, eventually, first_line, json_of, run_here, run_noughts, started

NOW = datetime(2026, 11, 24, 2, tzinfo=UTC)
BOT = "from noughts_bots import Bot\n\n\nclass Mine(Bot):\n    def choose(self, position):\n        return {}\n"


@pytest.mark.at_length
def test_a_course_from_the_class_list_to_the_reports(tmp_path: Path) -> None:
    folder, data = tmp_path / "ai-101", environment(XDG_DATA_HOME=str(tmp_path / "data"))
    class_list = tmp_path / "class.csv"
    class_list.write_text("login;Name;email\nada;Ada L.;a@x\nbob;=cmd();b@x\neve;Eve;e@x\n")
    line = f"course init {folder} --class {class_list} --variant tictactoe --games 2 --closes +1h --time none"
    document = json_of(line, data)
    assert document["students"] == 3
    tokens = {row["login"]: row for row in csv.DictReader((folder / "tokens.csv").read_text().splitlines())}
    assert list(tokens) == ["ada", "bob", "eve"]
    assert tokens["bob"]["name"] == "'=cmd()"
    assert (folder / "tokens.csv").stat().st_mode & 0o077 == 0
    assert (folder / "organiser.token").stat().st_mode & 0o077 == 0
    instructions = (folder / "INSTRUCTIONS.md").read_text()
    assert "You write a bot that plays tictactoe" in instructions
    assert json.loads((folder / "course.json").read_text())["openings"] == "random:2"
    assert not any(row["token"] in instructions for row in tokens.values())
    with ExitStack() as stack:
        serving = [
            "course",
            "serve",
            str(folder),
            "--listen",
            "127.0.0.1:0",
            "--web",
            "127.0.0.1:0",
            "--python-packages",
            "numpy",
            "--format",
            "json",
        ]
        server = stack.enter_context(started(serving, data))
        env = {**data, "NOUGHTS_SERVER": json.loads(first_line(server))["grpc"]}
        assert "the standard library and numpy" in (folder / "INSTRUCTIONS.md").read_text()
        early = run_noughts(["course", "night", str(folder)], env, code=1)
        assert "expected at least two" in early.stderr
        for login, cell in (("ada", "position.free[0]"), ("bob", "position.free[-1]")):
            bot = tmp_path / f"{login}.py"
            bot.write_text("import numpy\n" + BOT.format(cell))
            json_of(f"bot submit {bot} --name {login}-bot", {**env, "NOUGHTS_TOKEN": tokens[login]["token"]})
        # A student can neither organise nor submit under the name of another student's bot.
        student = {**env, "NOUGHTS_TOKEN": tokens["eve"]["token"]}
        assert "organise" in run_noughts(["tournament", "create", "mine"], student, code=1).stderr
        assert (
            "ada-bot"
            in run_noughts(["bot", "submit", str(tmp_path / "ada.py"), "--name", "ada-bot"], student, code=1).stderr
        )
        for name in ("ada", "Ada-two", "bob_x"):
            errors = run_here(["bot", "submit", str(tmp_path / "ada.py"), "--name", name], student, code=1).stderr
            assert f"bots/{name} is not yours" in errors
            assert "your own login" in errors
        json_of(f"bot submit {tmp_path / 'ada.py'} --name five", {**env, "NOUGHTS_TOKEN": tokens["ada"]["token"]})
        night_process = run_noughts(["course", "night", str(folder), "--format", "json"], env)
        assert "token" not in night_process.stderr
        night = json.loads(night_process.stdout)
        assert sorted(night["entries"]) == ["ada-bot", "bob-bot", "five"]
        assert (night["estimate"]["bots"], night["estimate"]["games"]) == (3, 6)
        first = night["tournament"].removeprefix("tournaments/")
        eventually(lambda: json_of(f"tournament show {first}", env)["state"], lambda state: state == "finished")
        assert json_of(f"course night {folder} --dry-run", env)["eta_basis"] == "night"
        second_night = json_of(f"course night {folder} --openings random:2", env)
        assert second_night["tournament"].startswith(night["tournament"].rpartition("-")[0])
        assert second_night["tournament"] != night["tournament"]
        json_of(f"course add {folder} zoe", env)
        (zoe,) = [line for line in (folder / "tokens.csv").read_text().splitlines() if line.startswith("zoe,")]
        late = {**env, "NOUGHTS_TOKEN": zoe.rpartition(",")[2]}
        json_of(f"bot submit {tmp_path / 'ada.py'} --name zoe-bot", late)
        assert (
            "ADA: got a student who has a token" in run_here(["course", "add", str(folder), "ADA"], env, code=1).stderr
        )
        slug = second_night["tournament"].removeprefix("tournaments/")
        second_cup = eventually(
            lambda: json_of(f"tournament show {slug}", env), lambda shown: shown["state"] == "finished"
        )
        assert second_cup["openings"]["plies"] == 2
        reports = json_of(f"course report {folder}", env)
        assert len(reports["reports"]) == 4
        server.terminate()
        assert server.wait(PATIENCE) == 0
    ada, eve = ((folder / "reports" / f"{login}.md").read_text() for login in ("ada", "eve"))
    assert "**ada-bot**: rank " in ada
    assert "**five**: rank " in ada
    assert "of 3" in ada
    assert "None of your bots played" in eve


@pytest.mark.parametrize(
    "content, options, complaint",
    [
        ("login\nada\nADA\n", "", "line 3: got 'ADA' twice"),
        ("login\nno name\n", "", "line 2: got the login 'no name'"),
        ("", "", "got 0 students"),
        ("Name,Email\nAda,a@x\n", "", "line 1: got 'Name,Email', expected a column `login`"),
        ("login\nOrganiser\n", "", "line 2: got the login 'Organiser', which is the teacher's"),
        ("ada\n", "--python-packages nosuch", "--python-packages: got nosuch, expected import names"),
        ("ada\n", "--accept wasm --python-packages numpy", "--python-packages: requires --accept py"),
        ("ada\n", "--nightly 25:00", "--nightly '25:00': expected HH:MM"),
        ("ada\n", "--closes 2020-01-01T00:00", "which is in the past"),
        ("ada\n", "--accept dll", "--accept 'dll': expected py, wasm"),
        ("ada\n", "--games 3", "--games 3: expected an even number from 2 to 1,000"),
        ("ada\n", "--public-url games --server games:7450", "--public-url 'games': expected http:// or https://"),
    ],
)
def test_wrong_options_of_a_course_are_refused(tmp_path: Path, content: str, options: str, complaint: str) -> None:
    (tmp_path / "class.csv").write_text(content)
    line = ["course", "init", str(tmp_path / "c"), "--class", str(tmp_path / "class.csv"), *options.split()]
    code = 1 if not options else 2
    assert complaint in run_here(line, environment(), code=code).stderr
    assert not (tmp_path / "c").exists()


def test_a_course_is_served_beyond_this_machine_only_with_protection(tmp_path: Path) -> None:
    folder, data = tmp_path / "c", environment(XDG_DATA_HOME=str(tmp_path / "data"))
    (tmp_path / "class.csv").write_text("ada\nbob\n")
    site = "--site https://games.example --variant tictactoe --time none"
    json_of(f"course init {folder} --class {tmp_path / 'class.csv'} {site}", data)
    assert "--name LOGIN-bot --server games.example:7450 --tls\n" in (folder / "INSTRUCTIONS.md").read_text()
    serving = ["course", "serve", str(folder), "--listen", "0.0.0.0:0"]
    assert "expected a loopback address" in run_here([*serving, "--web", "127.0.0.1:0"], data, code=2).stderr
    result = run_here(["course", "serve", str(folder), "--listen", "127.0.0.1:0", "--web", "0.0.0.0:0"], data, code=2)
    assert "others could read tokens in transit" in result.stderr
    authority = Authority(tmp_path)
    identity = authority.identity("server", names=("games.example", "127.0.0.1"))
    certificate = ["--tls-cert", str(identity.certificate), "--tls-key", str(identity.key)]
    with started([*serving, *certificate, "--format", "json"], data) as server:
        port = json.loads(first_line(server))["grpc"].rpartition(":")[2]
        env = {**data, "NOUGHTS_SERVER": f"127.0.0.1:{port}", "NOUGHTS_TLS_CA": str(authority.certificate)}
        for row in csv.DictReader((folder / "tokens.csv").read_text().splitlines()):
            (tmp_path / "bot.py").write_text(BOT.format("position.free[0]"))
            student = {**env, "NOUGHTS_TOKEN": row["token"]}
            json_of(f"bot submit {tmp_path / 'bot.py'} --name {row['login']}-bot", student)
        eventually(
            lambda: json_of(f"bot list --online --server {env['NOUGHTS_SERVER']}", env)["bots"],
            lambda bots: len(bots) == 2,
        )
        # As `course serve` does each night: it trusts exactly its own certificate.
        files = CourseFolder(folder)
        token = files.organiser.read_text().strip()
        with connected(f"localhost:{port}", token, identity.dialling()) as client:
            night = play_night(client, files.read(), NOW, Openings(), pytest.fail)
        assert night.name.startswith("tournaments/night-")
        server.terminate()
        assert server.wait(PATIENCE) == 0


def test_a_site_beyond_this_machine_lets_people_sign_in_behind_https(tmp_path: Path) -> None:
    data = environment(XDG_DATA_HOME=str(tmp_path / "data"))
    line = ["serve", "--listen", "127.0.0.1:0", "--web", "0.0.0.0:0", "--format", "json"]
    for more, open_ in (([], False), (["--https"], True), (["--insecure"], True)):
        with started([*line, *more], data) as server:
            port = json.loads(first_line(server))["web"].rpartition(":")[2]
            page = eventually(partial(_read, f"http://127.0.0.1:{port}/signin"), bool)
            assert ('name="token"' in page) is open_
            server.terminate()
            assert server.wait(PATIENCE) == 0


def _read(address: str) -> str:
    try:
        with urlopen(address, timeout=PATIENCE) as page:
            return str(page.read(), "utf-8")
    except OSError:
        return ""


def test_a_folder_without_a_course_is_an_error_with_a_fix(tmp_path: Path) -> None:
    assert "noughts course init" in run_here(["course", "night", str(tmp_path)], environment(), code=1).stderr


def test_only_course_commands_that_call_a_server_offer_encryption() -> None:
    offered = {
        line: "--tls-ca" in run_here(["course", line, "--help"], environment()).stdout for line in ("init", "night")
    }
    assert offered == {"init": False, "night": True}
