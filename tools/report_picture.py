"""Draws docs/images/report.png: plays a tournament, makes its report, and takes a picture of it in a browser.

python -m tools.report_picture [REPORT]    # with an address or file, of that report instead
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.browser import chromium

_PICTURE = Path(__file__).resolve().parents[1] / "docs" / "images" / "report.png"
_NOUGHTS = (sys.executable, "-m", "noughts_server.cli")
_BOTS = (
    "threats",
    "threats-200=threats:nodes=200",
    "fives",
    "minimax-2=minimax:depth=2",
    "minimax-1=minimax:depth=1",
    "nextstep-2=nextstep:depth=2",
    "first-free",
    "random",
)
_PLAYING = "--variant gomoku --openings random:4 --time 0.1/move --margin 500ms --games 16 --seed 1 --concurrency 2"
_WIDTH, _HEIGHT = 1000, 1880


def main() -> None:
    """Plays, reports, draws."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        page = sys.argv[1] if len(sys.argv) > 1 else _reported(folder).as_uri()
        with chromium() as browser:
            tab = browser.new_page(viewport={"width": _WIDTH, "height": _HEIGHT})
            tab.goto(page)
            tab.screenshot(path=_PICTURE)


def _reported(folder: Path) -> Path:
    games = folder / "games.jsonl"
    subprocess.run([*_NOUGHTS, "tournament", "run", *_BOTS, *_PLAYING.split(), "--times", "-o", games], check=True)
    subprocess.run([*_NOUGHTS, "report", games, "-o", folder, "--title", "Eight bots at Gomoku"], check=True)
    return folder / "report.html"


if __name__ == "__main__":
    main()
