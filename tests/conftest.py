"""What holds for all tests."""

import pytest

# Before a test loads grpc: as in our own programs.
import noughts_proto as noughts_proto
from tests.support.tools import NOT_TRIED


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says last what this machine could not try."""
    reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")}
    for reason in sorted(reasons):
        if reason.startswith(NOT_TRIED):
            terminalreporter.write_line(reason, yellow=True, bold=True)
