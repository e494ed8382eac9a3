"""Read the hashed locks that `make lock` writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
LOCKS = {
    "development": ROOT / "requirements.lock",
    "runtime": ROOT / "requirements-runtime.lock",
    "build": ROOT / "requirements-build.lock",
}
"""Each lock by the purpose of its packages."""
_PARENT = re.compile(r"(?m)^ +# +(?:via )?(?!via$|-c )(\S+)")


@dataclass(frozen=True)
class LockedPackage:
    """A package of a lock in one version."""

    requirement: Requirement
    hashes: tuple[str, ...]
    """SHA-256 of each file that may be installed."""
    parents: frozenset[str]
    """Names of the packages that require it; `noughts` itself is one."""

    @property
    def name(self) -> str:
        """Return the normalized name."""
        return canonicalize_name(self.requirement.name)

    @property
    def version(self) -> str:
        """Return the locked version."""
        (specifier,) = self.requirement.specifier
        return specifier.version


def read_lock(path: Path) -> list[LockedPackage]:
    """Return the packages of a lock in its order; a name can occur in two versions for two Pythons."""
    entries = re.split(r"(?m)^(?=\w)", path.read_text(encoding="utf-8"))
    return [_package(entry) for entry in entries if not entry.startswith("#")]


def _package(entry: str) -> LockedPackage:
    requirement, _, rest = entry.partition(" \\\n")
    parents = _PARENT.findall(rest)
    return LockedPackage(
        Requirement(requirement),
        tuple(re.findall(r"--hash=sha256:(\w{64})", rest)),
        frozenset(canonicalize_name(parent) for parent in parents),
    )
