"""The alerts and charts in deploy/: Prometheus understands their queries, and each names metrics that exist."""

import asyncio
import json
from collections.abc import Iterator, Mapping
from typing import Any

import promql_parser
import pytest
import yaml

from tests.support.root import ROOT
from tools.generated_pages.figures import families, labels_of, sample_name

_RULES = ROOT / "deploy" / "prometheus" / "noughts.rules.yml"
_DASHBOARD = ROOT / "deploy" / "grafana" / "noughts.json"
_PROCESS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}
"""Metrics of the client library of Prometheus."""
_TARGET_LABELS = {"instance", "job"}
"""Labels that Prometheus adds."""


def alerts() -> list[dict[str, Any]]:
    document = yaml.safe_load(_RULES.read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def charts() -> list[dict[str, Any]]:
    panels: list[dict[str, Any]] = json.loads(_DASHBOARD.read_text())["panels"]
    return [panel for panel in panels if panel["type"] != "row"]


def queries() -> Iterator[str]:
    yield from (alert["expr"] for alert in alerts())
    yield from (target["expr"] for chart in charts() for target in chart["targets"])


@pytest.fixture(scope="module")
def labels() -> Mapping[str, set[str]]:
    """The labels of each sample by its name."""
    known: dict[str, set[str]] = {name: set() for name in _PROCESS}
    for family in asyncio.run(families()):
        own = set(labels_of(family))
        if family.type == "histogram":
            known[f"{family.name}_bucket"] = {*own, "le"}
        known[sample_name(family)] = own
    return known


def selectors(query: str) -> list[promql_parser.VectorSelector]:
    """Return what a query selects. Raises ValueError."""
    found: list[promql_parser.VectorSelector] = []

    def note(expression: promql_parser.Expr) -> None:
        if isinstance(expression, promql_parser.MatrixSelector):
            found.append(expression.vector_selector)
        elif isinstance(expression, promql_parser.VectorSelector):
            found.append(expression)

    promql_parser.walk(promql_parser.parse(query), note)
    return found


@pytest.mark.parametrize("query", sorted(set(queries())))
def test_query_selects_metrics_and_labels_that_exist(query: str, labels: Mapping[str, set[str]]) -> None:
    selected = selectors(query)
    assert selected
    for selector in selected:
        assert selector.name is not None
        assert selector.name in labels
        assert {matcher.name for matcher in selector.matchers.matchers} <= labels[selector.name] | _TARGET_LABELS


def test_each_alert_says_what_happens_and_how_bad_it_is() -> None:
    names = [alert["alert"] for alert in alerts()]
    assert len(names) == len(set(names)) > 5
    for alert in alerts():
        assert alert["labels"]["severity"] in {"critical", "warning", "info"}
        assert set(alert["annotations"]) == {"summary", "description"}


def test_charts_do_not_overlap_and_share_the_chosen_data_source() -> None:
    places: set[tuple[int, int]] = set()
    for chart in charts():
        place = chart["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & places
        places |= cells
        assert chart["datasource"]["uid"] == "${datasource}"


def test_operations_page_names_each_alert() -> None:
    text = (ROOT / "docs" / "how-to" / "operations.md").read_text()
    assert [alert["alert"] for alert in alerts() if f"`{alert['alert']}`" not in text] == []
