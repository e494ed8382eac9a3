"""The API answers as its own document says, for any request: by schemathesis, which knows only the document."""

import subprocess
import sys
from pathlib import Path

import pytest

from noughts_server.web.api_routes import PREFIX
from tests.support.settings import repetitions
from tests.support.site import Site

pytestmark = [pytest.mark.processes, pytest.mark.at_length]


def test_answers_to_requests_of_the_document_follow_it(site: Site, tmp_path: Path) -> None:
    found = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run", f"{site.address}{PREFIX}/openapi.json"),
            *("--max-examples", str(repetitions(5)), "--generation-deterministic", "--no-color"),
            *("--phases", "coverage,fuzzing" if repetitions(1) > 1 else "fuzzing"),
            *("--exclude-path-regex", "events$"),  # streams without an end
            # A name or a page that could be there, and is not, is an error.
            *("--exclude-checks", "positive_data_acceptance"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stdout + found.stderr
