"""The parts of a release: bills of materials that the schema allows, checksums, signatures, and the audit."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.requirements import Requirement

from tests.support.root import ROOT
from tests.support.tools import NOT_TRIED, run
from tools.audit import problem_of
from tools.locks import LOCKS, LockedPackage, read_lock

VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
WHEEL = f"noughts-{VERSION}-py3-none-any.whl"
PURPOSES = {*LOCKS, "image"}
PAGE = (ROOT / "docs" / "contributing" / "supply-chain.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as `make wheel` leaves it, with a placeholder for the wheel, which test_wheel.py builds."""
    folder = tmp_path_factory.mktemp("dist")
    with zipfile.ZipFile(folder / WHEEL, "w") as archive:
        archive.writestr("noughts_proto/__init__.py", "")
    run(sys.executable, "-m", "tools.bill_of_materials", folder, cwd=ROOT)
    return folder


def bill(folder: Path, purpose: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(
        (folder / f"noughts-{VERSION}-{purpose}.cdx.json").read_text(encoding="utf-8")
    )
    return document


def test_bills_are_valid_and_connected(release: Path) -> None:
    for purpose in PURPOSES:
        text = (release / f"noughts-{VERSION}-{purpose}.cdx.json").read_text(encoding="utf-8")
        assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
        document = json.loads(text)
        required = {dependency["ref"]: dependency.get("dependsOn", []) for dependency in document["dependencies"]}
        reached: set[str] = set()
        waiting = [document["metadata"]["component"]["bom-ref"]]
        while waiting:
            if (reference := waiting.pop()) not in reached:
                reached.add(reference)
                waiting += required.get(reference, [])
        assert {component["bom-ref"] for component in document["components"]} <= reached, purpose


def test_bills_have_each_locked_package_with_its_hashes(release: Path) -> None:
    for purpose, lock in LOCKS.items():
        listed = {
            (component["name"], component["version"]): {one["content"] for one in component["hashes"]}
            for component in bill(release, purpose)["components"]
        }
        text = lock.read_text(encoding="utf-8")
        assert len(listed) == len(re.findall(r"(?m)^[\w.-]+==", text))
        assert set().union(*listed.values()) == set(re.findall(r"sha256:(\w{64})", text))


def test_bill_of_the_image_has_base_wheel_and_linux_packages(release: Path) -> None:
    listed = {component["purl"]: component for component in bill(release, "image")["components"]}
    wheel = hashlib.sha256((release / WHEEL).read_bytes()).hexdigest()
    assert listed[f"pkg:pypi/noughts@{VERSION}"]["hashes"] == [{"alg": "SHA-256", "content": wheel}]
    assert "pkg:docker/python@3.12-slim" in listed
    names = [component["name"] for component in listed.values()]
    assert "uvloop" in names
    assert "colorama" not in names
    assert names.count("numpy") == 1


def test_same_release_gives_the_same_bills(release: Path, tmp_path: Path) -> None:
    shutil.copy(release / WHEEL, tmp_path)
    run(sys.executable, "-m", "tools.bill_of_materials", tmp_path, cwd=ROOT)
    for path in release.iterdir():
        if path.suffix != ".sig":
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_checksums_name_every_file_of_the_release(release: Path) -> None:
    sums = {line[66:]: line[:64] for line in (release / "SHA256SUMS").read_text().splitlines()}
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in release.iterdir()
        if path.name.endswith((".whl", ".json"))
    }
    assert len(sums) == 1 + len(PURPOSES)


def test_documented_signature_is_accepted_and_changes_are_not(release: Path, tmp_path: Path) -> None:
    if shutil.which("ssh-keygen") is None:
        pytest.skip(f"{NOT_TRIED}signatures of a release; no ssh-keygen here")
    shutil.copytree(release, tmp_path / "dist")
    make, sign, verify = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for commands in (make, sign, verify):
        run("sh", "-ec", commands, cwd=tmp_path)
    (tmp_path / "dist" / WHEEL).write_bytes(b"another wheel")
    with pytest.raises(AssertionError, match="FAILED"):
        run("sh", "-ec", verify, cwd=tmp_path)
    with (tmp_path / "dist" / "SHA256SUMS").open("a") as sums:
        sums.write("0" * 64 + "  another.whl\n")
    with pytest.raises(AssertionError, match="Could not verify signature"):
        run("sh", "-ec", verify, cwd=tmp_path)


def audit(path: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "tools.audit", path], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def advisory(name: str, *events: Mapping[str, str], **more: object) -> dict[str, Any]:
    ranges = [{"type": "ECOSYSTEM", "events": list(events)}]
    affected = {"package": {"ecosystem": "PyPI", "name": name}, "ranges": ranges}
    return {"id": "OSV-1", "summary": "It is unsafe", "affected": [affected], **more}


def test_audit_names_affected_packages_locks_and_fix(tmp_path: Path) -> None:
    documents = [
        advisory("STARLETTE", {"introduced": "0"}, {"fixed": "999"}),
        advisory("hatchling", {"introduced": "0"}, {"fixed": "0.1"}),
        advisory("starlette", {"introduced": "0"}, withdrawn="2026-01-01T00:00:00Z"),
    ]
    version = next(package.version for package in read_lock(LOCKS["runtime"]) if package.name == "starlette")
    (tmp_path / "all.json").write_text(json.dumps(documents))
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for number, document in enumerate(documents):
            archive.writestr(f"{number}.json", json.dumps(document))
    for name in ("all.json", "all.zip"):
        process = audit(tmp_path / name)
        assert process.returncode == 1, process.stderr
        line, total = process.stdout.splitlines()
        assert line == (
            f"starlette {version} (requirements.lock, requirements-runtime.lock): OSV-1: It is unsafe."
            " Fix: raise it to 999, then make lock."
        )
        assert total.startswith("3 advisories, ")
    (tmp_path / "none.json").write_text("[]")
    assert audit(tmp_path / "none.json").returncode == 0


@pytest.mark.parametrize(
    "content",
    ["not JSON", '["x"]', '{"id": 1, "affected": 3}', '{"affected": []}', json.dumps(advisory("rich", {"fixed": "?"}))],
)
def test_audit_refuses_invalid_osv_documents_in_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "wrong.json").write_text(content)
    process = audit(tmp_path / "wrong.json")
    assert process.returncode == 2, process.stdout
    assert process.stderr.count("\n") == 1
    assert "wrong.json" in process.stderr
    assert "Fix:" in process.stderr


@pytest.mark.parametrize(
    "events, affected",
    [
        ([{"introduced": "0"}], True),
        ([{"introduced": "0"}, {"fixed": "2.0"}], False),
        ([{"introduced": "0"}, {"fixed": "2.0.1"}], True),
        ([{"introduced": "2.0"}], True),
        ([{"introduced": "2.1"}], False),
        ([{"introduced": "0"}, {"last_affected": "2.0"}], True),
        ([{"introduced": "0"}, {"last_affected": "1.9"}], False),
        ([{"introduced": "0"}, {"limit": "2.0"}], False),
        ([{"introduced": "0"}, {"fixed": "1.0"}, {"introduced": "1.5"}, {"fixed": "3"}], True),
        ([{"fixed": "3"}, {"introduced": "1.5"}, {"fixed": "1.0"}, {"introduced": "0"}], True),
        ([{"introduced": "0"}, {"fixed": "2.0rc1"}], False),
    ],
)
def test_audit_evaluates_ranges_as_osv_defines_them(events: list[Mapping[str, str]], affected: bool) -> None:
    package = LockedPackage(Requirement("thing==2.0"), (), frozenset())
    assert bool(problem_of(advisory("thing", *events), package)) is affected


def test_audit_compares_enumerated_versions_as_versions() -> None:
    package = LockedPackage(Requirement("thing==2.0"), (), frozenset())
    document = advisory("thing")
    document["affected"][0]["versions"] = ["1.0-old-spelling", "2"]
    assert problem_of(document, package).endswith("no version fixes it.")
