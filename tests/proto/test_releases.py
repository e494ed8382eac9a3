"""The installed versions of packages."""

import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from noughts_proto.releases import installed_version


@pytest.mark.parametrize("package", ["noughts", "grpcio", "pytest"])
def test_version_is_the_one_in_the_metadata(package: str) -> None:
    assert installed_version(package) == version(package)


def test_first_folder_of_the_path_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, name in (
        ("first", "pair-2.dev0.dist-info"),
        ("first", "pair_more-7.dist-info"),
        ("second", "pair-1.dist-info"),
    ):
        (tmp_path / folder / name).mkdir(parents=True)
    monkeypatch.setattr("sys.path", [str(tmp_path / "gone"), str(tmp_path / "first"), str(tmp_path / "second")])
    assert installed_version("pair") == "2.dev0"
    assert installed_version("triple") == ""


def test_package_in_an_archive_has_a_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as archive:
        archive.writestr("packed-3.1.dist-info/METADATA", "Metadata-Version: 2.1\nName: packed\nVersion: 3.1\n")
    monkeypatch.syspath_prepend(tmp_path / "packed.zip")
    assert installed_version("packed") == "3.1"
