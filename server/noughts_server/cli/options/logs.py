"""Logs of this process on stderr: in colours on a terminal, else as one line for each record."""

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
    """The values of --log-level."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """The values of --log-format."""

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
    """Import structlog without Rich's tracebacks, which our logs do not use.

    These would import Pygments and attrs, and the import would take 24 ms instead of 7.
    """
    unused = [name for name in ("rich.pretty", "rich.traceback") if name not in sys.modules]
    # The import of a module whose entry is None raises ImportError, so structlog does not use Rich.
    cast("dict[str, ModuleType | None]", sys.modules).update(dict.fromkeys(unused))
    try:
        import structlog as structlog  # the alias marks the unused name as intended
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
    # At level info, Alembic logs its configuration at each start.
    logging.getLogger("alembic").setLevel(threshold if level is LogLevel.DEBUG else logging.WARNING)


def _configure_structlog(threshold: int, form: LogFormat) -> None:
    import structlog

    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderers = _renderers(form, terminal=sys.stderr.isatty())
    structlog.configure(
        processors=[*shared, *renderers],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        # Read sys.stderr for each line, because a progress bar replaces it while it is drawn.
        logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
        )
    )
    logging.basicConfig(handlers=[handler], level=threshold, force=True)


def _renderers(form: LogFormat, *, terminal: bool) -> "list[Processor]":
    import structlog

    if form is LogFormat.AUTO:
        form = LogFormat.CONSOLE if terminal else LogFormat.LOGFMT
    if form is LogFormat.CONSOLE:
        plain = structlog.dev.plain_traceback
        return [_without_controls, structlog.dev.ConsoleRenderer(colors=terminal, exception_formatter=plain)]
    if form is LogFormat.JSON:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    first = ["timestamp", "level", "event"]
    return [
        structlog.processors.format_exc_info,
        _without_controls,
        structlog.processors.LogfmtRenderer(key_order=first),
    ]


def _without_controls(logger: object, method: str, event: "EventDict") -> "EventDict":
    """Replace control characters, because logs quote the output of bots. JSON needs no replacement: it escapes them."""
    return {key: without_controls(value) if isinstance(value, str) else value for key, value in event.items()}
