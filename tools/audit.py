"""Compare the locks with security advisories in OSV format; exit with 1 if a locked package is affected.

python -m tools.audit FILE

FILE is one advisory as JSON, a list of them, an answer with `vulns`, or a zip of such files. Nothing is downloaded.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from tools.locks import LOCKS, LockedPackage, read_lock

_ORDER = ("introduced", "fixed", "last_affected", "limit")
"""Kinds of events; a version introduced and fixed at once is fixed."""


class UnreadableAdvisories(Exception):
    """The file is missing, or not in OSV format."""


def main(arguments: Sequence[str]) -> int:
    """Print a line for each affected package; return the exit code."""
    if len(arguments) != 1:
        return _fail("The audit has no advisories. Fix: make audit FILE=advisories.json, or a zip of such files.")
    packages: dict[tuple[str, str], tuple[LockedPackage, list[str]]] = {}
    for path in LOCKS.values():
        for package in read_lock(path):
            packages.setdefault((package.name, package.version), (package, []))[1].append(path.name)
    try:
        advisories = list(read_advisories(Path(arguments[0])))
        found = [
            f"{package.name} {package.version} ({', '.join(locks)}): {problem}"
            for package, locks in packages.values()
            for advisory in advisories
            if (problem := problem_of(advisory, package))
        ]
    except UnreadableAdvisories as error:
        return _fail(
            f"The audit cannot read {arguments[0]}: {error}. Fix: name a file in OSV format (JSON, or a zip of it)."
        )
    sys.stdout.write("".join(f"{line}\n" for line in sorted(found)))
    sys.stdout.write(f"{len(advisories):,} advisories, {len(packages):,} locked packages, {len(found):,} affected\n")
    return int(bool(found))


def _fail(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 2


def read_advisories(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the advisories of a file. Raises UnreadableAdvisories."""
    try:
        if not zipfile.is_zipfile(path):
            yield from _advisories_of(path.read_bytes())
            return
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield from _advisories_of(archive.read(name))
    except OSError as error:
        raise UnreadableAdvisories(error.strerror or str(error)) from error
    except (ValueError, zipfile.BadZipFile) as error:
        raise UnreadableAdvisories(str(error)) from error


def _advisories_of(data: bytes) -> Iterator[Mapping[str, Any]]:
    document = json.loads(data)
    if isinstance(document, dict) and "vulns" in document:
        document = document["vulns"]
    for advisory in document if isinstance(document, list) else [document]:
        if not isinstance(advisory, dict) or "id" not in advisory or not isinstance(advisory.get("affected", []), list):
            raise UnreadableAdvisories("an entry is not an advisory with `id` and `affected`")
        yield advisory


def problem_of(advisory: Mapping[str, Any], package: LockedPackage) -> str:
    """Return what the advisory reports of the package, with the versions that fix it; empty if it is not affected."""
    if "withdrawn" in advisory:
        return ""
    try:
        entries = [entry for entry in advisory.get("affected", ()) if _is_about(entry.get("package", {}), package.name)]
        if not any(_affects(entry, Version(package.version)) for entry in entries):
            return ""
        fixes = {
            event["fixed"]
            for entry in entries
            for range_ in entry.get("ranges", ())
            if range_["type"] == "ECOSYSTEM"
            for event in range_["events"]
            if "fixed" in event and Version(event["fixed"]) > Version(package.version)
        }
    except (AttributeError, KeyError, TypeError, InvalidVersion) as error:
        raise UnreadableAdvisories(
            f"advisory {advisory['id']} is malformed ({type(error).__name__}: {error})"
        ) from error
    summary = str(advisory.get("summary") or advisory.get("details") or "no summary").partition("\n")[0]
    advice = f"raise it to {min(fixes, key=Version)}, then make lock" if fixes else "no version fixes it"
    return f"{advisory['id']}: {summary}. Fix: {advice}."


def _is_about(named: Mapping[str, Any], package: str) -> bool:
    return named.get("ecosystem") == "PyPI" and canonicalize_name(named.get("name", "")) == package


def _affects(affected: Mapping[str, Any], version: Version) -> bool:
    """Evaluate one `affected` entry as the OSV schema defines it: a version in the list or within a range."""
    if any(_parsed(listed) == version for listed in affected.get("versions", ())):
        return True
    return any(
        _within(range_["events"], version) for range_ in affected.get("ranges", ()) if range_["type"] == "ECOSYSTEM"
    )


def _within(events: Sequence[Mapping[str, str]], version: Version) -> bool:
    listed = [(kind, text) for event in events for kind, text in event.items() if kind in _ORDER]
    if any(kind == "limit" and text != "*" and version >= Version(text) for kind, text in listed):
        return False
    affected = False
    for kind, text in sorted(listed, key=lambda each: (_key(each[1]), _ORDER.index(each[0]))):
        if kind == "introduced" and version >= _key(text):
            affected = True
        if (kind == "fixed" and version >= _key(text)) or (kind == "last_affected" and version > _key(text)):
            affected = False
    return affected


def _key(text: str) -> Version:
    """Return a version of an event; `0` stands before every version, `*` is a limit without an end."""
    return Version("0.dev0") if text in {"0", "*"} else Version(text)


def _parsed(text: str) -> Version | None:
    """Return an enumerated version; None for old spellings that are not versions today: no lock can hold them."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
