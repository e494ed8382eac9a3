"""Schemathesis sends generated requests to the API and compares the answers with the OpenAPI document."""

import subprocess
import sys
from pathlib import Path

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.api_routes import PREFIX
from noughts_server.web.http_play.session import PlaySettings
from tests.support.settings import repetitions
from tests.support.site import site_of

pytestmark = [pytest.mark.processes, pytest.mark.at_length]


def test_answers_to_requests_of_the_document_follow_it(server: ServerUnderTest, tmp_path: Path) -> None:
    token = server.token("fuzzer")
    # Requests for turns do not wait. Nothing limits the sessions but the server.
    with site_of(server.address, play=PlaySettings(longest_wait=0.01)) as site:
        result = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{site.address}{PREFIX}/openapi.json"),
                *("--max-examples", str(repetitions(5)), "--generation-deterministic", "--no-color"),
                *("--phases", "coverage,fuzzing,stateful" if repetitions(1) > 1 else "fuzzing,stateful"),
                *("--header", f"Authorization: Bearer {token}"),
                *("--exclude-path-regex", "events$"),  # streams without an end
                # Valid but unknown names and page tokens are errors, which this check would not accept. A token is
                # not needed to read, and requests without one are tested elsewhere.
                *("--exclude-checks", "positive_data_acceptance,ignored_auth"),
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
