"""The Helm chart, rendered by Helm: objects that Kubernetes accepts, and commands, files and metrics that exist."""

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from packaging.version import Version

from tests.support.chart import (
    CHART,
    EXAMPLES,
    NAMESPACE,
    RELEASE,
    containers,
    of_kind,
    refusal,
    render,
    rendered,
    run_helm,
)
from tests.support.root import ROOT

from .compose import arguments
from .known_commands import check_command
from .metric_queries import labels_of_samples, selectors

_OPERATORS = {"PodMonitor", "PrometheusRule", "ScaledObject"}
"""Kinds of the Prometheus operator and of KEDA, which are not part of Kubernetes."""
_FILES = re.compile(r"/etc/noughts/[\w/.-]+")


@pytest.fixture(params=EXAMPLES, name="example")
def _example(request: pytest.FixtureRequest) -> list[dict[str, Any]]:
    """The objects of each example."""
    return rendered(request.param)


def test_objects_follow_the_schemas_of_the_oldest_and_newest_kubernetes(example: list[dict[str, Any]]) -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    oldest = chart["kubeVersion"].removeprefix(">=").removesuffix("-0")
    newest = max(kubernetes_validate.latest_version(), oldest, key=Version)
    for document in example:
        if document["kind"] not in _OPERATORS:
            for version in (oldest, newest):
                kubernetes_validate.validate(document, version, strict=True)


def test_commands_of_the_chart_exist(example: list[dict[str, Any]]) -> None:
    commands = containers(example)
    assert {container.component for container in commands} == {"servers", "referees", "website", "migrations", "test"}
    for container in commands:
        check_command(container.arguments)


def test_listening_addresses_are_the_ports_of_containers_and_probes(example: list[dict[str, Any]]) -> None:
    for container in containers(example):
        listening = {int(found[1]) for word in container.arguments if (found := re.search(r"=0\.0\.0\.0:(\d+)", word))}
        assert set(container.ports.values()) == listening
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            if listening:
                assert container.spec[probe]["httpGet"]["port"] in container.ports
    parts = {container.component: container for container in containers(example)}
    for service in of_kind(example, "Service").values():
        component = service["spec"]["selector"]["app.kubernetes.io/component"]
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= set(parts[component].ports)
    website = next(word for word in parts["website"].arguments if word.startswith("--server="))
    host, _, port = website.removeprefix("--server=").partition(":")
    assert int(port) == parts["servers"].ports["grpc"]
    if "." not in host:
        assert host in of_kind(example, "Service")


def test_files_of_commands_are_mounted_from_secrets(example: list[dict[str, Any]]) -> None:
    for container in containers(example):
        volumes = {volume["name"]: volume for volume in container.pod.get("volumes", ())}
        mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container.spec.get("volumeMounts", ())}
        assert volumes.keys() == {mount["name"] for mount in container.spec.get("volumeMounts", ())}
        used = {path for word in container.arguments for path in _FILES.findall(word)}
        for path in used:
            folder, _, name = path.rpartition("/")
            secret = mounts[folder]["secret"]
            names = {item["path"] for item in secret["items"]} if "items" in secret else {"tls.crt", "tls.key"}
            assert name in names
        assert {folder for folder in mounts if folder != "/tmp"} == {path.rpartition("/")[0] for path in used}


def test_pods_have_no_rights_and_read_only_files(example: list[dict[str, Any]]) -> None:
    user = re.search(r"--uid (\d+)", " ".join(arguments("RUN")))
    assert user is not None
    for container in containers(example):
        pod = container.pod["securityContext"]
        assert pod["runAsNonRoot"] is True
        assert pod["runAsUser"] == int(user[1])
        assert pod["seccompProfile"] == {"type": "RuntimeDefault"}
        assert container.pod["automountServiceAccountToken"] is False
        assert container.pod["enableServiceLinks"] is False
        assert container.spec["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {"requests", "limits"} <= container.spec["resources"].keys()


def test_the_chart_contains_and_makes_no_secret(example: list[dict[str, Any]]) -> None:
    assert of_kind(example, "Secret") == {}
    for container in containers(example):
        variables = {variable["name"]: variable for variable in container.spec.get("env", ())}
        assert variables.keys() <= {"NOUGHTS_CLUSTER", "PGPASSWORD"}
        assert "value" not in variables.get("PGPASSWORD", {})


def test_referees_reach_nothing_but_names_the_database_and_the_bus() -> None:
    policy = of_kind(rendered("engines"), "NetworkPolicy")["league-noughts-referees"]["spec"]
    assert policy["policyTypes"] == ["Ingress", "Egress"]
    assert [rule["ports"] for rule in policy["ingress"]] == [[{"port": "metrics"}]]
    ports = [port["port"] for rule in policy["egress"] for port in rule["ports"]]
    assert ports == [53, 53, 5432, 4222]


def test_every_pod_has_a_network_policy_except_that_of_the_test(example: list[dict[str, Any]]) -> None:
    chosen = {
        policy["spec"]["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
        for policy in of_kind(example, "NetworkPolicy").values()
    }
    assert chosen == {container.component for container in containers(example)} - {"test"}


def test_selectors_choose_the_pods_of_their_part(example: list[dict[str, Any]]) -> None:
    for kind, path in (("Deployment", "selector"), ("PodDisruptionBudget", "selector")):
        for name, document in of_kind(example, kind).items():
            labels = document["spec"][path]["matchLabels"]
            assert name == f"{RELEASE}-noughts-{labels['app.kubernetes.io/component']}"
            assert labels["app.kubernetes.io/instance"] == RELEASE


def test_autoscaling_queries_a_metric_of_the_servers() -> None:
    objects = rendered("engines")
    [scaled] = of_kind(objects, "ScaledObject").values()
    assert scaled["spec"]["scaleTargetRef"]["name"] in of_kind(objects, "Deployment")
    # The autoscaler owns the number of referees.
    assert "replicas" not in of_kind(objects, "Deployment")["league-noughts-referees"]["spec"]
    [trigger] = scaled["spec"]["triggers"]
    [selector] = selectors(trigger["metadata"]["query"])
    assert selector.name == "noughts_units_open"
    assert selector.name in labels_of_samples()
    wanted = {matcher.name: matcher.value for matcher in selector.matchers.matchers}
    assert wanted == {"namespace": NAMESPACE, "app_kubernetes_io_instance": RELEASE}
    # The monitor gives samples these labels: `namespace` always, and those of the pod that it copies.
    [monitor] = of_kind(objects, "PodMonitor").values()
    assert "app.kubernetes.io/instance" in monitor["spec"]["podTargetLabels"]
    assert {endpoint["port"] for endpoint in monitor["spec"]["podMetricsEndpoints"]} == {"metrics"}


def test_without_autoscaling_the_values_say_how_many_referees_run() -> None:
    objects = rendered("plain")
    assert of_kind(objects, "ScaledObject") == {}
    assert of_kind(objects, "Deployment")["league-noughts-referees"]["spec"]["replicas"] == 2


def test_a_stopped_release_runs_nothing_but_keeps_its_services() -> None:
    objects = render(EXAMPLES["engines"], "stopped=true")
    assert {document["spec"]["replicas"] for document in of_kind(objects, "Deployment").values()} == {0}
    assert of_kind(objects, "ScaledObject") == {}
    assert of_kind(objects, "Service").keys() == of_kind(rendered("engines"), "Service").keys()


def test_a_second_release_can_have_referees_only() -> None:
    objects = render(EXAMPLES["plain"], "servers.enabled=false", "website.enabled=false", "migrations.enabled=false")
    assert {container.component for container in containers(objects)} == {"referees"}
    assert of_kind(objects, "Service") == {}
    assert of_kind(objects, "NetworkPolicy").keys() == {"league-noughts-referees"}


def test_rules_and_dashboard_are_those_of_the_repository() -> None:
    objects = rendered("engines")
    [rules] = of_kind(objects, "PrometheusRule").values()
    assert rules["spec"] == yaml.safe_load((ROOT / "deploy" / "prometheus" / "noughts.rules.yml").read_text())
    dashboard = of_kind(objects, "ConfigMap")["league-noughts-dashboard"]["data"]["noughts.json"]
    assert json.loads(dashboard) == json.loads((ROOT / "deploy" / "grafana" / "noughts.json").read_text())


def test_a_packaged_chart_renders_the_same_objects(tmp_path: Path) -> None:
    process = run_helm("package", CHART, "--destination", tmp_path)
    assert process.returncode == 0, process.stderr
    [package] = tmp_path.iterdir()
    assert render(EXAMPLES["engines"], chart=package) == rendered("engines")


def test_helm_finds_nothing_to_complain_about(example: list[dict[str, Any]]) -> None:
    values = [option for path in EXAMPLES.values() for option in ("--values", path)]
    process = run_helm("lint", "--strict", CHART, *values)
    assert process.returncode == 0, process.stdout + process.stderr


def test_version_of_the_chart_is_that_of_the_project() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == project["version"]
    assert chart["version"] == project["version"].replace(".dev", "-dev.")


@pytest.mark.parametrize(
    "settings, message",
    [
        (["image.repository="], "image.repository is empty. Fix: "),
        (["database.url="], "database.url is empty. Fix: "),
        (["bus.url="], "bus.url is empty. Fix: "),
        (["bus.insecure=false"], "the bus has no credentials"),
        (["website.tokenSecret.name=site", "website.replicas=2"], "website.replicas is above 1 with a token"),
        (["referees.autoscaling.enabled=true"], "referees.autoscaling.prometheus is empty. Fix: "),
        (["website.ingress.enabled=true"], "website.ingress.host is empty. Fix: "),
        (["database.url=postgresql://noughts:secret@postgres/noughts"], "/database/url"),
        (["servers.replica=3"], "additional properties 'replica' not allowed"),
        (["referees.arguments={threads}"], "/referees/arguments/0"),
    ],
)
def test_values_that_cannot_work_are_refused(settings: list[str], message: str) -> None:
    assert message in refusal(EXAMPLES["plain"], *settings)


def test_every_value_has_a_schema_and_a_default() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    defaults = yaml.safe_load((CHART / "values.yaml").read_text())
    assert _names(schema, schema["definitions"]) - {"global"} == set(_paths(defaults, schema, schema["definitions"]))


def _names(schema: Mapping[str, Any], definitions: Mapping[str, Any], path: str = "") -> set[str]:
    """Return the paths of all values that a schema names."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    names = set()
    for name, value in schema.get("properties", {}).items():
        names |= {f"{path}{name}"} | _names(value, definitions, f"{path}{name}.")
    return names


def _paths(
    values: Mapping[str, Any], schema: Mapping[str, Any], definitions: Mapping[str, Any], path: str = ""
) -> set[str]:
    """Return the paths of all values, except those below a value whose schema names no others."""
    schema = definitions[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    paths = set()
    for name, value in values.items():
        paths.add(f"{path}{name}")
        below = schema["properties"][name]
        if isinstance(value, dict) and _names(below, definitions):
            paths |= _paths(value, below, definitions, f"{path}{name}.")
    return paths
