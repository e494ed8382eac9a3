"""Logs of the parts that run in this process: to stderr, in colours on a terminal, one line a record elsewhere."""

import logging
import sys
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, cast

from typer import Option

from noughts_server.core.plain_text import without_controls

if TYPE_CHECKING:
    from structlog.typing import EventDict, Processor


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    AUTO = "auto"
    CONSOLE = "console"
    LOGFMT = "logfmt"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The level and the format of the log of a command that runs until it is stopped."""

    log_level: Annotated[LogLevel, Option("--log-level", help="Lowest level of log lines on stderr")] = LogLevel.INFO
    log_format: Annotated[
        LogFormat, Option("--log-format", help="Log format; auto: console on a terminal, else logfmt")
    ] = LogFormat.AUTO

    def configure(self) -> None:
        """Send the logs of this process to stderr by these options."""
        configure_logs(self.log_level, self.log_format)


def _load_structlog() -> None:
    """Import structlog without Rich's tracebacks, which no log of ours shows.

    They load Pygments and attrs: 24 ms instead of 7, or 130 instead of 30 if Python stores no bytecode.
    """
    unused = [name for name in ("rich.pretty", "rich.traceback") if name not in sys.modules]
    # To import a module whose entry is None raises ImportError: structlog takes Rich as missing.
    cast("dict[str, ModuleType | None]", sys.modules).update(dict.fromkeys(unused))
    try:
        import structlog as structlog
    finally:
        for name in unused:
            del sys.modules[name]


def configure_logs(level: LogLevel, form: LogFormat = LogFormat.AUTO) -> None:
    """Send the logs of structlog and the standard library to stderr."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    if find_spec("structlog") is None:  # without the server, only the standard library logs
        logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=threshold, force=True)
    else:
        _load_structlog()
        _configure_structlog(threshold, form)
    # It logs at each start which extensions it has loaded.
    logging.getLogger("alembic").setLevel(threshold if level is LogLevel.DEBUG else logging.WARNING)


def _configure_structlog(threshold: int, form: LogFormat) -> None:
    import structlog

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    rendering = _rendering(form, terminal=sys.stderr.isatty())
    structlog.configure(
        processors=[*shared, *rendering],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        # Read for each line, because code that draws on the terminal replaces the stream meanwhile.
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    logging.basicConfig(handlers=[handler], level=threshold, force=True)


def _rendering(form: LogFormat, *, terminal: bool) -> "list[Processor]":
    import structlog

    if form is LogFormat.AUTO:
        form = LogFormat.CONSOLE if terminal else LogFormat.LOGFMT
    if form is LogFormat.CONSOLE:
        plain = structlog.dev.plain_traceback
        return [_harmless, structlog.dev.ConsoleRenderer(colors=terminal, exception_formatter=plain)]
    if form is LogFormat.JSON:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    first = ["timestamp", "level", "event"]
    return [structlog.processors.format_exc_info, _harmless, structlog.processors.LogfmtRenderer(key_order=first)]


def _harmless(logger: object, method: str, event: "EventDict") -> "EventDict":
    """Replace characters that steer a terminal: logs quote the output of bots. JSON escapes them."""
    return {key: without_controls(value) if isinstance(value, str) else value for key, value in event.items()}
