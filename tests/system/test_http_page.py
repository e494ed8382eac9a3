"""The commands of the page about playing over HTTP run as written and print the output of the page."""

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from noughts_server.testing import serving
from tests.support.processes import environment
from tests.support.root import ROOT
from tests.support.site import site_of

from .shells import STEP_SECONDS, run_shell

PAGE = (ROOT / "docs" / "how-to" / "play-over-http.md").read_text(encoding="utf-8")
_STEP = re.compile(r"^```bash\n(?P<commands>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```$)?", re.MULTILINE | re.DOTALL)
_WEBSITE = "http://127.0.0.1:7480"
_END = "-- end of a step --"


def pattern_of(text: str) -> str:
    """Return the regular expression of an output in which `...` stands for any text."""
    # The board of a position has more than three dots in a row.
    return re.sub(r"(?<!\\\.)\\\.\\\.\\\.(?!\\\.)", ".*?", re.escape(text.strip()))


@pytest.mark.at_length
async def test_the_page_about_playing_over_http_works_as_written(tmp_path: Path) -> None:
    steps = list(_STEP.finditer(PAGE))
    assert len(steps) == PAGE.count("```bash")
    with serving(reconnect_timeout=60.0) as server, site_of(server.address) as site:
        for owner in ("ada", "bob"):
            (tmp_path / f"{owner}.token").write_text(server.token(owner))
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        variables = environment(PATH=path, HOME=str(tmp_path), NOUGHTS_SERVER=server.address)
        script = "".join(f"{step['commands']}\necho; echo '{_END}'\n" for step in steps) + "kill $!\n"
        script = script.replace(_WEBSITE, site.address)
        async with run_shell(script, tmp_path, variables) as shell, asyncio.timeout(2 * STEP_SECONDS):
            assert await shell.process.wait() == 0, shell.output
        outputs = shell.output.replace(site.address, _WEBSITE).split(_END)
    for step, output in zip(steps, outputs, strict=False):
        if step["printed"]:
            assert re.fullmatch(pattern_of(step["printed"]), output.strip()), output
