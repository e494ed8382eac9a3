"""Hooks and settings of all tests."""

import fcntl
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

# Sets variables of the environment that grpc reads when it is loaded, so it comes before every import of grpc.
import noughts_proto as noughts_proto
from tests.support import guard
from tests.support.databases import POSTGRESQL, database_kind_of
from tests.support.forks import fork_known_modules
from tests.support.statements import share_compiled_statements
from tests.support.tools import NOT_TRIED

# Several workers share the cores, so threads of linear algebra would wait for each other. numpy reads the variable
# when it is loaded, which is later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Examples have no deadline, because a busy machine takes longer. A test that hangs ends at its own time limit.
settings.register_profile("noughts", deadline=None)
settings.load_profile("noughts")
share_compiled_statements()
fork_known_modules()

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


MOSTLY_WAITING = ("cluster", "chaos", "system")
"""Tests that run first: they wait for minutes, in which the cores can run the other tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes the expected outputs in tests/golden."""
    parser.addoption(
        "--update", action="store_true", help="write the outputs in tests/golden instead of comparing them"
    )


def pytest_configure() -> None:
    """Let the programs that a test starts receive signals as usual.

    A shell that runs the tests in the background ignores SIGINT, and `nohup` ignores SIGHUP; processes inherit both.
    """
    gc.disable()  # until all tests are collected: the collector would look at all of them again and again
    # As on the command line, log lines go to standard error, so that they do not mix with the output of commands.
    # Tracebacks are plain, because to colour one takes longer than most tests.
    processors = [
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr), processors=processors)
    # Only tests run several event loops in one process. gRPC wakes all of them, and all but one log an empty read.
    logging.getLogger("asyncio").addFilter(lambda record: "PollerCompletionQueue" not in record.getMessage())
    if threading.current_thread() is threading.main_thread():
        for number, default_handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, default_handler)


class _FailedTests:
    """Names a failed test at once: its error comes at the end of the run, which can be stopped before."""

    def __init__(self, reporter: pytest.TerminalReporter) -> None:
        self._reporter = reporter

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._reporter.write_line(f"\nfailed: {report.nodeid}", red=True)


def pytest_sessionstart(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:  # a worker has none
        session.config.pluginmanager.register(_FailedTests(reporter))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Let one worker collect first: it compiles each module once, and the others load the stored results."""
    with Path(__file__).open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(file, fcntl.LOCK_SH)
        return (yield)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests in folders of `WITH_PROCESSES`, and move those of `MOSTLY_WAITING` to the front.

    The tests on PostgreSQL follow them, so that few workers start a PostgreSQL.
    """

    def is_in(item: pytest.Item, *paths: str) -> bool:
        return item.path.relative_to(tests).as_posix().startswith(paths)

    tests = Path(__file__).parent
    for item in items:
        if is_in(item, *WITH_PROCESSES):
            item.add_marker("processes")
    items.sort(key=lambda item: (not is_in(item, *MOSTLY_WAITING), database_kind_of(item) != POSTGRESQL))


def pytest_collection_finish() -> None:
    """Exclude the collected tests, which stay until the end, from cycle collection."""
    gc.enable()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> object:
    """Let a test start processes only if it has the mark `processes`."""
    with guard.processes_allowed(item.get_closest_marker("processes") is not None):
        return (yield)


@pytest.fixture(autouse=True)
def _same_working_folder() -> Iterator[None]:
    """Fail a test that leaves another working folder to the next tests of its process."""
    folder = Path.cwd()
    yield
    if (left := Path.cwd()) != folder:
        os.chdir(folder)
        pytest.fail(f"the test has left the working folder {left}")


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer() -> Iterator[None]:
    """After its time limit, give a test another minute; then end this process, and another one runs the other tests."""
    timer = yield
    fail_test = signal.getsignal(signal.SIGALRM)

    def out_of_time(number: int, frame: FrameType | None) -> None:
        _end_within_a_minute()
        if callable(fail_test):
            fail_test(number, frame)

    signal.signal(signal.SIGALRM, out_of_time)
    return timer


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Limit the time of the fixtures after a failed test, because pytest-timeout cancels its own limit here."""
    if isinstance(node, pytest.Item):
        _end_within_a_minute()


def _end_within_a_minute() -> None:
    """Let the alarm end this process, unless the next test sets another alarm before."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(60)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print at the end what this machine could not test."""
    reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.getreports("skipped")}
    for reason in sorted(reasons):
        if reason.startswith(NOT_TRIED):
            terminalreporter.write_line(reason, yellow=True, bold=True)
