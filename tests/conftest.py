"""Hooks and settings of all tests."""

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest
import structlog
from hypothesis import settings

# Before a test loads grpc: as in our own programs.
import noughts_proto as noughts_proto
from tests.support import guard
from tests.support.tools import NOT_TRIED

# Several workers share the cores: threads of linear algebra would wait for each other. It is not loaded yet.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A busy machine takes longer for an example; what hangs is ended by the time limit of the test.
settings.register_profile("noughts", deadline=None)
settings.load_profile("noughts")

WITH_PROCESSES = (
    "bots/hosts",
    "chaos",
    "cluster",
    "referee/children",
    "server/agents",
    "server/cli",
    "server/engines",
    "server/local",
    "server/hosting",
    "server/bot_check",
    "server/launching",
    "system",
)
"""Folders of tests that start processes. Elsewhere a test that does so fails unless it has the mark `processes`."""


MOSTLY_WAITING = ("cluster", "chaos", "system/test_quick_starts.py")
"""Those come first: what waits for minutes leaves the cores to others, unless it is the last."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes the expected outputs in tests/golden."""
    parser.addoption(
        "--update", action="store_true", help="write the outputs in tests/golden instead of comparing them"
    )


def pytest_configure() -> None:
    """Let the programs that a test starts receive signals as usual.

    A shell that runs the tests in the background ignores SIGINT, and `nohup` ignores SIGHUP; processes inherit both.
    """
    # As the command line does it: what is logged must not lie among what a command prints.
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    # Only tests run event loops side by side: gRPC wakes all of them, and all but one find nothing to read.
    logging.getLogger("asyncio").addFilter(lambda record: "PollerCompletionQueue" not in record.getMessage())
    if threading.current_thread() is threading.main_thread():
        for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, usual)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what `make quick` leaves out by the folder that it lies in, and puts what takes longest first."""

    def lies_in(item: pytest.Item, *places: str) -> bool:
        return item.path.relative_to(here).as_posix().startswith(places)

    here = Path(__file__).parent
    for item in items:
        if lies_in(item, *WITH_PROCESSES):
            item.add_marker("processes")
    items.sort(key=lambda item: not lies_in(item, *MOSTLY_WAITING))


def pytest_collection_finish() -> None:
    """Thousands of tests stay to the end: the cycle collector need not look at them again and again."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> object:
    """Keeps tests without the mark from starting processes."""
    with guard.processes_allowed(item.get_closest_marker("processes") is not None):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer() -> Iterator[None]:
    """A test that ran out of time ends within a minute, or with its process. Another process continues."""
    done = yield
    fail = signal.getsignal(signal.SIGALRM)

    def out_of_time(number: int, frame: FrameType | None) -> None:
        _end_within_a_minute()
        if callable(fail):
            fail(number, frame)

    signal.signal(signal.SIGALRM, out_of_time)
    return done


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Limit the time of the rest of a failed test: the plugin cancels its own limit here."""
    if isinstance(node, pytest.Item):
        _end_within_a_minute()


def _end_within_a_minute() -> None:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says last what this machine could not try."""
    reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")}
    for reason in sorted(reasons):
        if reason.startswith(NOT_TRIED):
            terminalreporter.write_line(reason, yellow=True, bold=True)
