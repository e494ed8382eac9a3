"""Limits and metrics, from the classes that hold them."""

from __future__ import annotations

import ast
import asyncio
import inspect
import tempfile
from dataclasses import fields
from pathlib import Path

from prometheus_client import Metric
from structlog.testing import capture_logs

from noughts_server.core.limits import Limits
from noughts_server.monitoring.prometheus import (
    CallMetrics,
    ClusterMetrics,
    HeartbeatMetrics,
    PlayMetrics,
    WebsiteMetrics,
)
from noughts_server.server import running_server
from noughts_server.settings import ServerSettings
from noughts_server.store.engine.sqlite import url_of
from noughts_server.web.traffic import Traffic
from tools.generated_pages.markdown import code, prose, table


def limits(argument: str) -> str:
    """Return all limits on callers with their defaults."""
    texts = texts_of_fields(Limits)
    return table(
        ("limit", "default", "what it counts"),
        ((code(field.name), f"{field.default:,}", prose(texts[field.name])) for field in fields(Limits)),
    )


def texts_of_fields(kind: type) -> dict[str, str]:
    """Return the text that follows each field of a class in its source."""
    [tree] = ast.parse(inspect.cleandoc(inspect.getsource(kind))).body
    assert isinstance(tree, ast.ClassDef)
    found = {}
    for statement, following in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = following.value if isinstance(following, ast.Expr) else None
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                found[statement.target.id] = " ".join(text.value.split())
    return found


def metrics(argument: str) -> str:
    """Return all metrics of servers, referees and websites. Metrics of the process itself are not among them."""
    return table(("metric", "kind", "what"), map(_row, asyncio.run(families())))


async def families() -> list[Metric]:
    """Return the metrics of a server that has just started."""
    with capture_logs(), tempfile.TemporaryDirectory() as folder:
        settings = ServerSettings("127.0.0.1:0", url_of(Path(folder) / "noughts.db"))
        async with running_server(settings) as of:
            parts = (
                PlayMetrics(
                    store=of.store,
                    referee=of.referee,
                    recorder=of.recorder,
                    sessions=of.sessions,
                    counters=of.counters,
                ),
                CallMetrics(counters=of.counters, feed_counts=of.feed.counts),
                ClusterMetrics(store=of.store, referees={}),
                HeartbeatMetrics(of.counters),
                WebsiteMetrics(Traffic()),
            )
            return [family for part in parts for family in part.collect()]


def labels_of(family: Metric) -> tuple[str, ...]:
    """Return the names of the labels of a metric."""
    # The library keeps them in a field that only its subclasses have.
    return tuple(getattr(family, "_labelnames", ()))


def sample_name(family: Metric) -> str:
    """Return the name under which Prometheus stores a metric that is no histogram."""
    return family.name + ("_total" if family.type == "counter" else "")


def _row(family: Metric) -> tuple[str, str, str]:
    labels, name = ",".join(labels_of(family)), sample_name(family)
    return code(f"{name}{{{labels}}}" if labels else name), family.type, prose(family.documentation)
