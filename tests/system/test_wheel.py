"""The wheel that users get: its build, its contents, and its programs without the source tree."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from functools import partial
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.processes import environment as without_settings
from tests.support.processes import eventually, exit_code_and_errors, first_line, json_of, started
from tests.support.root import ROOT
from tests.support.shared import make_once
from tests.support.tools import run

pytestmark = pytest.mark.at_length

PACKAGES = ("proto/noughts_proto", "referee/noughts_referee", "bots/noughts_bots", "server/noughts_server")
CENTRE = """
from noughts_bots import Bot

class Centre(Bot):
    def choose(self, position):
        return 4 if 4 in position.free else position.free[0]
"""


def files_of_the_tree() -> list[Path]:
    """Return the files that git tracks or would add, by path from the root."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def build(folder: Path, env: dict[str, str] | None = None) -> None:
    """Build the wheel from a copy of the tree without the files that git ignores."""
    source = folder / "source"
    for name in files_of_the_tree():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=folder, env=env)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    (built,) = make_once(tmp_path_factory, "wheel", build).glob("noughts-*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> frozenset[str]:
    """The paths in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return frozenset(archive.namelist())


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the wheel, which can import the dependencies of this environment.

    A .pth file names the folders of these dependencies. Python does not read further .pth files in such folders, so the
    editable install of Noughts stays invisible. Nothing is downloaded.
    """
    return make_once(tmp_path_factory, "environment", partial(install, wheel)) / "bin"


def install(wheel: Path, home: Path) -> None:
    packages = install_alone(wheel, home)
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(dependencies)))


def install_alone(wheel: Path, home: Path) -> Path:
    """Create an environment with only the wheel, and return the folder of its packages."""
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=home)
    return Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip())


@pytest.fixture(scope="module")
def plain_scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment as pip makes it from the wheel without extras.

    Its direct and indirect requirements are linked from this environment, file by file. Nothing is downloaded.
    """
    return make_once(tmp_path_factory, "light", partial(install_with_requirements, wheel)) / "bin"


def install_with_requirements(wheel: Path, home: Path) -> None:
    packages = install_alone(wheel, home)
    (own,) = distributions(name="noughts", path=[str(packages)])
    wanted = [own]
    linked = {"noughts"}
    while wanted:
        for text in wanted.pop().requires or ():
            requirement = Requirement(text)
            needed = requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            if needed and (name := canonicalize_name(requirement.name)) not in linked:
                linked.add(name)
                wanted.append(link_distribution(name, packages))


def link_distribution(name: str, packages: Path) -> Distribution:
    """Link the files of a distribution of this environment."""
    linked = distribution(name)
    for file in linked.files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            target = packages / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(str(linked.locate_file(file)))
    return linked


@pytest.fixture
def environment(scripts: Path, tmp_path: Path) -> dict[str, str]:
    """The environment variables of a user who has just installed the wheel: an empty home, no settings."""
    variables = {"PATH": f"{scripts}{os.pathsep}{os.defpath}"}
    kinds = (
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
    )
    for kind in kinds:
        folder = tmp_path / kind.lower()
        folder.mkdir(mode=0o700)
        variables[kind] = str(folder)
    return variables


def test_wheel_holds_every_file_of_the_four_packages_and_nothing_else(contents: frozenset[str]) -> None:
    expected = {
        path.relative_to(Path(package).parent).as_posix()
        for path in files_of_the_tree()
        for package in PACKAGES
        if path.is_relative_to(package)
    }
    # The website offers these examples of bots, which are outside the package in the tree.
    examples = Path("bots/examples/http")
    expected |= {
        f"noughts_server/web/example_bot_files/{path.relative_to(examples).as_posix()}"
        for path in files_of_the_tree()
        if path.is_relative_to(examples)
    }
    assert {path for path in contents if ".dist-info/" not in path} == expected


def test_two_builds_give_the_same_wheel(wheel: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        other = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}
        for number, epoch in enumerate(("1700000000", "1700000000", None)):
            (folder := tmp_path / str(number)).mkdir()
            times = {} if epoch is None else {"SOURCE_DATE_EPOCH": epoch}
            build(folder, {**(other if number != 1 else os.environ), **times})
    finally:
        os.umask(before)
    first, second, undated = (tmp_path / str(number) / wheel.name for number in range(3))
    assert first.read_bytes() == second.read_bytes() != undated.read_bytes()
    assert undated.read_bytes() == wheel.read_bytes()


def test_wheel_holds_protocol_stubs_and_type_markers(contents: frozenset[str]) -> None:
    stems = {path.removesuffix(".proto") for path in contents if path.endswith(".proto")}
    assert "noughts_proto/v1/play" in stems
    endings = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
    assert {stem + ending for stem in stems for ending in endings} <= contents
    assert {f"{Path(package).name}/py.typed" for package in PACKAGES} <= contents


def test_wheel_holds_database_migrations(contents: frozenset[str]) -> None:
    migrations = "noughts_server/store/engine/migrations/"
    assert f"{migrations}env.py" in contents
    assert [path for path in contents if path.startswith(f"{migrations}versions/") and path.endswith(".py")]


def test_wheel_holds_licence(contents: frozenset[str]) -> None:
    assert [path for path in contents if path.endswith(".dist-info/licenses/LICENSE")]


def test_installed_wheel_does_not_see_the_tree(scripts: Path, environment: dict[str, str], tmp_path: Path) -> None:
    names = [Path(package).name for package in PACKAGES]
    program = f"for name in {names}: print(__import__(name).__file__)"
    places = run(scripts / "python", "-c", program, cwd=tmp_path, env=environment).splitlines()
    assert len(places) == len(names)
    assert [place for place in places if not Path(place).is_relative_to(scripts.parent)] == []


def test_demo_of_an_installed_wheel_plays_a_tournament(scripts: Path, environment: dict[str, str]) -> None:
    home = Path(environment["HOME"])
    document = json.loads(run(scripts / "noughts", "demo", "--format", "json", cwd=home, env=environment))
    assert document["games"] > 0
    assert len(document["standings"]) >= 2


@pytest.fixture
def author(plain_scripts: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment variables of an author of bots, who has installed the wheel without extras."""
    return {**environment, "PATH": f"{plain_scripts}{os.pathsep}{os.defpath}"}


@pytest.fixture
def server_environment(author: dict[str, str], tmp_path: Path) -> Iterator[dict[str, str]]:
    """The same, with the address of a server in another environment, and a token for it."""
    database, server_variables = str(tmp_path / "games.db"), without_settings(XDG_DATA_HOME=str(tmp_path))
    token = json_of(f"token create --owner ada --db {database}", server_variables)["token"]
    serve = [
        "serve",
        "--no-web",
        "--rate-own-games",
        "--listen",
        "127.0.0.1:0",
        "--db",
        database,
        "--format",
        "json",
        "--log-level",
        "error",
    ]
    with started(serve, server_variables) as server:
        yield {**author, "NOUGHTS_SERVER": json.loads(first_line(server))["grpc"], "NOUGHTS_TOKEN": token}
        server.terminate()
        exit_code_and_errors(server)


def test_package_without_extras_is_at_most_18_packages(
    plain_scripts: Path, author: dict[str, str], tmp_path: Path
) -> None:
    program = "from importlib.metadata import distributions; print(*(found.name for found in distributions()))"
    names = set(run(plain_scripts / "python", "-c", program, cwd=tmp_path, env=author).split()) - {"pip", "setuptools"}
    assert "noughts" in names
    assert len(names) <= 18, sorted(names)


def test_package_without_extras_plays_at_a_server_elsewhere(
    plain_scripts: Path, server_environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "centre.py").write_text(CENTRE)
    noughts = [str(plain_scripts / "noughts")]
    plugin = f"py:{tmp_path / 'centre.py'}:Centre"

    def run_noughts(*arguments: str) -> str:
        return run(*noughts, *arguments, cwd=tmp_path, env=server_environment)

    with (
        started(["bot", "run", "random", "--name", "lots"], server_environment, noughts) as reference,
        started(["bot", "run", plugin, "--name", "centre", "--no-lock"], server_environment, noughts) as own,
    ):
        eventually(
            lambda: json.loads(run_noughts("bot", "list", "--online", "--format", "json"))["bots"],
            lambda rows: len(rows) == 2,
        )
        run_noughts("tournament", "create", "cup", "--games", "4", "--seed", "1")
        for name in ("lots", "centre"):
            run_noughts("tournament", "join", "cup", "--bot", name)
        run_noughts("tournament", "start", "cup")
        eventually(lambda: run_noughts("tournament", "show", "cup"), lambda text: "finished" in text)
        output = run_noughts("tournament", "show", "cup")
        assert "centre" in output
        assert "Crosstable" in output
        assert "centre" in run_noughts("leaderboard")
        for process in (reference, own):
            process.terminate()
            exit_code_and_errors(process)


def test_commands_for_authors_work_without_extras(plain_scripts: Path, author: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "centre.py").write_text(CENTRE)
    for line, expected in {
        "--help": "Run a server until Ctrl-C",
        "bot --help": "Play as one or more bots on a server",
        "bot run --help": "--start-timeout",
        "--version": "noughts ",
        "bot list": "nextstep[:depth=1..9]",
        "variants": "tictactoe",
        "bot header": "noughts_bot.h",
        "bot check py:./centre.py:Centre --games 2 --no-lock": "Nothing is wrong.",
        "bot table build pascal -o pascal.table": "4,520 positions",
        "bot learn --file learnt.table --games 10 --against random --seed 1": "learnt from 10 games",
    }.items():
        assert expected in run(plain_scripts / "noughts", *line.split(), cwd=tmp_path, env=author), line


@pytest.mark.parametrize(
    "line, extra",
    [
        ("serve", "server"),
        ("demo", "server"),
        ("match random random", "server"),
        ("token list", "server"),
        ("health", "server"),
        ("play", "play"),
        ("web", "web"),
        ("bot learn --file x.table --games 1 --against random --curve x.svg", "charts"),
    ],
)
def test_a_command_without_its_extra_names_the_extra(
    plain_scripts: Path, author: dict[str, str], tmp_path: Path, line: str, extra: str
) -> None:
    process = subprocess.run(
        [plain_scripts / "noughts", *line.split()], cwd=tmp_path, env=author, capture_output=True, text=True, timeout=60
    )
    assert process.returncode == 1
    command = "bot learn" if line.startswith("bot") else line.partition(" random")[0]
    assert process.stderr.startswith(f"Error: noughts {command}: package ")
    assert process.stderr.endswith(f"Fix: Run this in a checkout of Noughts: pip install '.[{extra}]'\n")
    assert process.stderr.count("\n") == 2
    assert not (tmp_path / "x.table").exists()


@pytest.mark.parametrize("line", ["bot rnu", "nothing", "bot run", "bot check x --games 0", "variants --format xml"])
def test_wrong_usage_without_extras_exits_with_2(
    plain_scripts: Path, author: dict[str, str], tmp_path: Path, line: str
) -> None:
    process = subprocess.run(
        [plain_scripts / "noughts", *line.split()], cwd=tmp_path, env=author, capture_output=True, text=True, timeout=60
    )
    assert process.returncode == 2
    assert "Error" in process.stderr
    assert "Traceback" not in process.stderr


def test_wheel_of_a_checkout_has_its_commit(tmp_path: Path) -> None:
    shutil.copy2(ROOT / "hatch_build.py", tmp_path)
    (tmp_path / "noughts_server").mkdir()
    (tmp_path / "noughts_server" / "__init__.py").touch()
    hook = '[tool.hatch.build.targets.wheel.hooks.custom]\npath = "hatch_build.py"\n'
    project = '[project]\nname = "noughts-server"\nversion = "1"\n'
    backend = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    (tmp_path / "pyproject.toml").write_text(backend + project + hook)
    building = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "dist", tmp_path)
    run(*building, cwd=tmp_path)
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert "noughts_server/core/commit.txt" not in archive.namelist()
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    run("git", "init", "--quiet", cwd=tmp_path)
    run("git", "add", "noughts_server", cwd=tmp_path)
    run("git", *identity, "commit", "--quiet", "--message", "First", cwd=tmp_path)
    run(*building, cwd=tmp_path)
    commit = run("git", "rev-parse", "HEAD", cwd=tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read("noughts_server/core/commit.txt").decode().strip() == commit.strip()[:12]
    assert [file.name for file in (tmp_path / "dist").iterdir()] == [wheel.name]


def test_wheel_of_a_release_has_the_documentation() -> None:
    planned = run("make", "--dry-run", "wheel", cwd=ROOT)
    assert 0 < planned.find("server/noughts_server/web/handbook") < planned.find(" -m build --wheel")
