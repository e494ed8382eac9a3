"""The Helm chart, as Helm renders it."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.support.root import ROOT
from tests.support.tools import helm

CHART = ROOT / "deploy" / "helm" / "noughts"
EXAMPLES = {path.stem: path for path in sorted((ROOT / "deploy" / "helm" / "examples").glob("*.yaml"))}
"""Files with values, by their names."""
RELEASE, NAMESPACE = "league", "games"


@dataclass(frozen=True)
class Container:
    """A container of a rendered pod."""

    component: str
    """The part of the cluster, e.g. `servers`."""
    spec: dict[str, Any]
    pod: dict[str, Any]

    @property
    def arguments(self) -> list[str]:
        """Return its command after `noughts`."""
        return list(self.spec["args"])

    @property
    def ports(self) -> dict[str, int]:
        """Return its ports by their names."""
        return {port["name"]: port["containerPort"] for port in self.spec.get("ports", ())}


def render(values: Path, *settings: str, chart: Path = CHART) -> list[dict[str, Any]]:
    """Return the objects of the chart with these values and settings (`NAME=VALUE`). The test fails if Helm does."""
    process = run_helm("template", RELEASE, chart, "--namespace", NAMESPACE, "--values", values, *_options(settings))
    assert process.returncode == 0, process.stderr
    return [document for document in yaml.safe_load_all(process.stdout) if document is not None]


@cache
def rendered(example: str) -> list[dict[str, Any]]:
    """Return the objects of the chart with the values of an example."""
    return render(EXAMPLES[example])


def refusal(values: Path, *settings: str) -> str:
    """Return the message with which Helm refuses to render the chart."""
    process = run_helm("template", RELEASE, CHART, "--values", values, *_options(settings))
    assert process.returncode != 0, process.stdout
    return process.stderr


def run_helm(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run Helm, and return what it printed."""
    return subprocess.run([helm(), *arguments], capture_output=True, text=True, timeout=110, check=False)


def _options(settings: Sequence[str]) -> list[str]:
    return [word for setting in settings for word in ("--set", setting)]


def of_kind(objects: Sequence[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """Return the objects of a kind by their names."""
    return {document["metadata"]["name"]: document for document in objects if document["kind"] == kind}


def containers(objects: Sequence[dict[str, Any]]) -> list[Container]:
    """Return the containers of all pods."""
    found = []
    for document in objects:
        if document["kind"] in {"Deployment", "Job"}:
            template = document["spec"]["template"]
        elif document["kind"] == "Pod":
            template = document
        else:
            continue
        component = template["metadata"]["labels"]["app.kubernetes.io/component"]
        found += [Container(component, spec, template["spec"]) for spec in template["spec"]["containers"]]
    return found
