"""The build hook of the wheel: it adds example bots, and the commit that the wheel is built from, if git knows it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMMIT_FILE = "noughts_server/core/commit.txt"
EXAMPLE_BOTS = Path("bots/examples/http")
EXAMPLE_BOTS_OF_WHEEL = "noughts_server/web/example_bot_files"
"""The website sends them to newcomers."""


def commit_of(root: Path) -> str:
    """Return the first digits of the commit of a checkout; empty outside a checkout or without git."""
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return ""
    command = [git, "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


class CommitHook(BuildHookInterface[Any]):
    """Adds files to the wheel. An editable install gets none: it reads the bots in place, and its commit changes."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the files to the wheel."""
        if version == "editable":
            return
        examples = Path(self.root) / EXAMPLE_BOTS
        if examples.is_dir():
            build_data["force_include"][str(examples)] = EXAMPLE_BOTS_OF_WHEEL
        commit = commit_of(Path(self.root))
        if commit:
            file = Path(self.directory) / ".commit.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{commit}\n", encoding="utf-8")
            build_data["force_include"][str(file)] = COMMIT_FILE

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the file from the folder of wheels."""
        (Path(self.directory) / ".commit.txt").unlink(missing_ok=True)
