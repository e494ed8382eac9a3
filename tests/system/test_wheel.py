"""What people get is the wheel, not the tree: build it, look inside, run it where the tree cannot be seen."""

from __future__ import annotations

import json
import os
import shutil
import sys
import sysconfig
import venv
import zipfile
from functools import partial
from pathlib import Path

import pytest

from tests.support.root import ROOT
from tests.support.shared import made_once
from tests.support.tools import run

PACKAGES = ("proto/noughts_proto", "referee/noughts_referee", "bots/noughts_bots", "server/noughts_server")


def files_of_the_tree() -> list[Path]:
    """What a commit of the tree as it stands would hold, by path from its root."""
    listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    return [Path(name) for name in listed.split("\0") if name and (ROOT / name).is_file()]


def build(folder: Path) -> None:
    """Builds the wheel, from a copy of the tree without what git ignores."""
    source = folder / "source"
    for name in files_of_the_tree():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, source / name)
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, source, cwd=folder)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel."""
    (built,) = made_once(tmp_path_factory, "wheel", build).glob("noughts-*.whl")
    return built


@pytest.fixture(scope="module")
def contents(wheel: Path) -> frozenset[str]:
    """The paths in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return frozenset(archive.namelist())


@pytest.fixture(scope="module")
def scripts(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment that holds the wheel and sees the dependencies of this one.

    It sees them by a .pth file. A folder named in such a file is searched for modules, but the .pth files in
    that folder are not read; our editable install is one of those, so it stays out of sight. Nothing is
    downloaded.
    """
    return made_once(tmp_path_factory, "environment", partial(install, wheel)) / "bin"


def install(wheel: Path, home: Path) -> None:
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python)
    run(*pip, "install", "--quiet", "--no-index", "--no-deps", wheel, cwd=home)
    packages = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=home).strip()
    dependencies = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (Path(packages) / "dependencies.pth").write_text("\n".join(sorted(dependencies)))


@pytest.fixture
def environment(scripts: Path, tmp_path: Path) -> dict[str, str]:
    """The environment variables of somebody who has just installed the wheel: an empty home, no settings."""
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
    assert {path for path in contents if ".dist-info/" not in path} == expected


def test_wheel_holds_protocol_stubs_and_type_markers(contents: frozenset[str]) -> None:
    stems = {path.removesuffix(".proto") for path in contents if path.endswith(".proto")}
    assert "noughts_proto/v1/play" in stems
    endings = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py", "_pb2_grpc.pyi")
    assert {stem + ending for stem in stems for ending in endings} <= contents
    assert {f"{Path(package).name}/py.typed" for package in PACKAGES} <= contents


def test_wheel_holds_database_migrations(contents: frozenset[str]) -> None:
    migrations = "noughts_server/store/migrations/"
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
