"""Optional packages that commands need: the extras of Noughts."""

from importlib.util import find_spec

from noughts_server.cli.errors import Problem

_EXTRAS = {
    "server": (
        "sqlalchemy",
        "alembic",
        "grpc_health",
        "grpc_reflection",
        "platformdirs",
        "prometheus_client",
        "structlog",
    ),
    "play": ("textual",),
    "charts": ("jinja2",),
    "web": (
        "starlette",
        "uvicorn",
    ),
    "cluster": (
        "nats",
        "psycopg",
    ),
    "tracing": ("opentelemetry.sdk",),
    "wasm": ("wasmtime",),
    "connect4": ("bitbully_databases", "wasmtime"),
    "llm": ("openai",),
    "mcp": ("mcp",),
    "parquet": ("pyarrow",),
}
"""The packages of each extra. An extra counts as installed if its first package is."""


def require_extra(line: str, extra: str) -> None:
    """Raise Problem if the extra that a command needs is not installed; `line` is the command as it is typed."""
    if not has_extra(extra):
        raise _missing_package(line, _main_package(extra), extra)


def has_extra(extra: str) -> bool:
    """Return whether the packages of an extra are installed."""
    try:
        return find_spec(_main_package(extra)) is not None
    except ModuleNotFoundError:
        return False  # a package that contains it is missing, too


def _main_package(extra: str) -> str:
    package, *_ = _EXTRAS[extra]
    return package


def explain_missing_package(error: BaseException, line: str) -> Problem | None:
    """Return the problem if the error is the failed import of a package that an extra brings."""
    package = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    for extra, packages in _EXTRAS.items():
        if package in packages:
            return _missing_package(line, package, extra)
    return None


def _missing_package(line: str, package: str, extra: str) -> Problem:
    return Problem(f"{line}: package {package} is missing; it comes with noughts[{extra}]", install_advice(extra))


def install_advice(extra: str) -> str:
    """Return how to install an extra."""
    return f"Run this in a checkout of Noughts: pip install '.[{extra}]'"
