"""The image and the compose file, without a container: what they name exists, and what they run works.

Each service's command is run as a real process in the environment that the file gives it; only paths, ports and host
names are mapped to those of this machine.
"""

import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from noughts_server.web import handbook
from tests.support.processes import eventually, exit_code_and_errors, first_line, json_of, run_noughts, started
from tests.support.proxy import documented_configuration
from tests.support.root import ROOT

from .compose import BOTS, CLUSTER_SERVICES, COMPOSE, FILE, FOREIGN_SERVICES, SERVICES, Host, arguments, dockerfile

pytestmark = pytest.mark.at_length


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """This machine in place of the containers, with an empty folder for their data."""
    return Host(tmp_path)


@pytest.fixture
def server(host: Host) -> Iterator["subprocess.Popen[str]"]:
    """The server, started by the file's command, after it has passed the file's health check."""
    check = SERVICES["server"]["healthcheck"]["test"]
    assert check[:2] == ["CMD", "noughts"]
    with started(host.command("server"), host.environment("server")) as process:
        assert "serves at" in first_line(process)
        run_noughts(check[2:], host.environment("server"))
        yield process


def test_compose_file_follows_the_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    process = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert process.returncode == 0, process.stdout


def test_all_references_of_services_exist() -> None:
    for name, service in SERVICES.items():
        assert set(service.get("depends_on", {})) <= set(SERVICES), name
        assert {volume.partition(":")[0] for volume in service.get("volumes", ())} <= set(FILE["volumes"]), name
        assert set(service.get("secrets", ())) <= set(FILE.get("secrets", {})), name
        assert (service["image"] == SERVICES["server"]["image"]) is (name not in FOREIGN_SERVICES), name
    assert (ROOT / SERVICES["server"]["build"]["context"] / "Dockerfile").is_file()


def test_bots_wait_for_a_healthy_server_and_call_it_by_its_name() -> None:
    assert len(BOTS) == 5
    for bot in BOTS:
        assert set(SERVICES[bot]["depends_on"]) == {"server", "member"}
        for waited in SERVICES[bot]["depends_on"].values():
            assert waited == {"condition": "service_healthy", "required": False}
        assert SERVICES[bot]["environment"]["NOUGHTS_SERVER"] == "server:7450"


def test_ports_are_open_to_this_machine_only() -> None:
    assert all(port.startswith("127.0.0.1:") for service in SERVICES.values() for port in service.get("ports", ()))


def test_the_proxy_has_the_documented_configuration() -> None:
    plain = re.sub(r"    ssl_certificate.*\n", "", documented_configuration()).replace(" ssl", "")
    setting = plain.replace("127.0.0.1:17", "server:7").split()
    assert " ".join(setting) in " ".join((ROOT / FILE["configs"]["nginx"]["file"]).read_text(encoding="utf-8").split())
    address = SERVICES["proxy"]["networks"]["default"]["ipv4_address"]
    assert f"--proxy={address}" in SERVICES["server"]["command"]
    assert {port.split(":")[1] for port in SERVICES["proxy"]["ports"]} == {"7450", "7480"}
    assert [port.split(":")[1] for port in SERVICES["server"]["ports"]] == ["7451"]


def test_every_service_has_limits_and_no_rights() -> None:
    for name, service in SERVICES.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["restart"] == "unless-stopped", name
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}, name
        assert service["profiles"], name
    # Other images run as root by default; ours does not.
    assert all(SERVICES[name]["user"] for name in FOREIGN_SERVICES)
    for name in ("server", *CLUSTER_SERVICES, *FOREIGN_SERVICES):
        assert "healthcheck" in SERVICES[name], name


def test_the_compose_file_contains_no_secret() -> None:
    text = COMPOSE.read_text(encoding="utf-8")
    assert re.findall(r"PASSWORD: (.*)", text) == ["${NOUGHTS_DATABASE_PASSWORD:-}"] * 2
    assert {SERVICES[bot]["environment"]["NOUGHTS_TOKEN"] for bot in BOTS} == {"${NOUGHTS_TOKEN:-}"}
    assert ".env" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


def test_variables_of_the_file_are_known_to_the_program() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("*/noughts_*/**/*.py"))
    own_services = [service for name, service in SERVICES.items() if name not in FOREIGN_SERVICES]
    names = {name for service in own_services for name in service.get("environment", {})}
    # libpq reads the first; users who work in a container use the second.
    assert {name for name in names if name not in sources} == {"PGPASSWORD", "NOUGHTS_CLUSTER"}


def test_the_dockerfile_copies_only_existing_files_of_its_context() -> None:
    assert dockerfile()[0] == ("ARG", "BASE=python:3.12-slim")
    stages = [line.partition(" AS ")[2] for line in arguments("FROM")]
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for line in arguments("COPY"):
        options = [word for word in line.split() if word.startswith("--")]
        *sources, _ = (word for word in line.split() if not word.startswith("--"))
        for option in options:
            assert option.removeprefix("--from=") in stages
        if not options:
            assert [source for source in sources if not (ROOT / source.removeprefix("./")).exists()] == []
            assert [source for source in sources if f"!{source.removeprefix('./')}" not in sent] == []


def test_base_image_can_be_pinned_by_its_digest_as_documented() -> None:
    default = dockerfile()[0][1].removeprefix("BASE=")
    assert {line.partition(" AS ")[0] for line in arguments("FROM")} == {"${BASE}"}
    pinned = {str(service["build"]["args"]["BASE"]) for service in SERVICES.values() if "build" in service}
    assert pinned == {f"${{NOUGHTS_BASE_IMAGE:-{default}}}"}
    page = (ROOT / "docs/how-to/operations.md").read_text(encoding="utf-8")
    for words in ("imagetools inspect ", "--build-arg BASE=", "NOUGHTS_BASE_IMAGE="):
        assert set(re.findall(rf"{words}([\w:.-]+?)(?:@|`)", page)) <= {default, "python:3.13-slim"}
        assert f"{words}{default}" in page
    assert f"NOUGHTS_BASE_IMAGE={default}@sha256:DIGEST" in page


def test_image_runs_as_a_user_without_rights_and_from_hashes() -> None:
    instructions = dockerfile()
    last_stage = max(index for index, (name, _) in enumerate(instructions) if name == "FROM")
    assert ("USER", "noughts") in instructions[last_stage:]
    installs = [line for run in arguments("RUN") for line in run.split("&&") if " install " in line and "pip" in line]
    assert installs
    assert all("--require-hashes" in line or "--no-index" in line for line in installs)


def locked(name: str) -> dict[str, str]:
    """Return the version of each package in a lock."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"(?m)^([\w.-]+)==([^\s;]+)", text))


@pytest.mark.parametrize("name", ["requirements-runtime.lock", "requirements-build.lock"])
def test_locks_of_the_image_agree_with_the_lock_of_development(name: str) -> None:
    everything, part = locked("requirements.lock"), locked(name)
    assert part
    assert part.items() <= everything.items()
    assert len(part) < len(everything) / 2, "packages for development in the image"
    text = (ROOT / name).read_text(encoding="utf-8")
    # Each version has its line with hashes; some packages have another version for older Pythons.
    assert set(re.findall(r"(?m)^([\w.-]+)==.+ \\\n    --hash=sha256:\w{64}", text)) == part.keys()


def test_image_has_the_documentation_built_with_locked_packages() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    names = {requirement.partition("==")[0] for requirement in project["dependency-groups"]["docs"]}
    assert names <= set(locked("requirements-build.lock"))
    [build] = [run for run in arguments("RUN") if "sphinx" in run]
    assert str(handbook.FOLDER.relative_to(ROOT / "server")) in build


def test_the_runtime_lock_has_all_dependencies() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    declared = re.search(r"(?ms)^dependencies = \[(.*?)^\]", project)
    assert declared is not None
    names = set(re.findall(r'(?m)^    "([\w-]+)', declared[1]))
    assert names
    assert names <= set(locked("requirements-runtime.lock"))


def test_the_server_exits_with_0_on_sigterm_and_is_then_unhealthy(host: Host, server: "subprocess.Popen[str]") -> None:
    server.send_signal(signal.SIGTERM)
    code, errors = exit_code_and_errors(server)
    assert code == 0, errors
    run_noughts(SERVICES["server"]["healthcheck"]["test"][2:], host.environment("server"), code=1)
    assert len(list(Path(host.value("/data")).rglob("noughts.db"))) == 1


def test_each_bot_of_the_compose_file_goes_online_and_stops(host: Host, server: "subprocess.Popen[str]") -> None:
    beside = host.environment("server")
    host.variables["NOUGHTS_TOKEN"] = json_of("token create --owner me", beside)["token"]
    health = arguments("HEALTHCHECK")[0].partition("CMD ")[2]
    with ExitStack() as stack:
        bots = {bot: stack.enter_context(started(host.command(bot), host.environment(bot))) for bot in BOTS}
        for bot, process in bots.items():
            assert first_line(process) == f"online as bots/{bot}/versions/1\n"
        rows = json_of("bot list --online", beside)["bots"]
        assert [row["name"] for row in rows] == BOTS
        run_noughts(yaml.safe_load(health)[1:], host.environment(BOTS[0]))
        for process in bots.values():
            process.send_signal(signal.SIGTERM)
        assert {bot: exit_code_and_errors(process) for bot, process in bots.items()} == dict.fromkeys(BOTS, (0, ""))
    eventually(lambda: json_of("bot list --online", beside)["bots"], lambda online: not online)
    server.terminate()
    assert exit_code_and_errors(server)[0] == 0


def test_a_bot_without_a_token_gets_an_error_with_the_command(host: Host) -> None:
    result = run_noughts(host.command("random"), host.environment("random"), code=2)
    assert "noughts token create" in result.stderr


def test_the_operator_sets_the_log_level(host: Host) -> None:
    host.variables["NOUGHTS_LOG_LEVEL"] = "warning"
    assert "--log-level=warning" in host.command("server")
    assert os.environ.get("NOUGHTS_LOG_LEVEL") is None
