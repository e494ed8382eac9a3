"""The alerts and charts in deploy/, the compose file and the Dockerfile: metrics and commands in them exist."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.support.root import ROOT

from .compose import SERVICES, arguments
from .known_commands import check_command
from .metric_queries import labels_of_samples, selectors

_RULES = ROOT / "deploy" / "prometheus" / "noughts.rules.yml"
_DASHBOARD = ROOT / "deploy" / "grafana" / "noughts.json"
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


@pytest.mark.parametrize("query", sorted(set(queries())))
def test_query_selects_metrics_and_labels_that_exist(query: str) -> None:
    labels = labels_of_samples()
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


@pytest.mark.parametrize("service", [name for name, service in SERVICES.items() if service["image"] == "noughts"])
def test_commands_of_the_compose_file_exist(service: str) -> None:
    check_command([re.sub(r"\$\{\w+:-(\w*)\}", r"\1", word) for word in SERVICES[service]["command"]])
    check = SERVICES[service].get("healthcheck", {"test": []})["test"]
    if check[:2] == ["CMD", "noughts"]:
        check_command(check[2:])


def test_commands_of_the_image_exist() -> None:
    assert json.loads(arguments("ENTRYPOINT")[0]) == ["noughts"]
    check_command(json.loads(arguments("CMD")[0]))
    check = json.loads(arguments("HEALTHCHECK")[0].partition("CMD ")[2])
    assert check[0] == "noughts"
    check_command(check[1:])
