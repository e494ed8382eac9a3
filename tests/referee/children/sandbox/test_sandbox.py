"""Actions that the sandbox refuses and allows: children try each of them, started by root and by an ordinary user.

A kernel without Landlock or seccomp fails these tests: the sandbox has no effect there.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from noughts_referee.children.sandbox import gaps
from tests.support.shared import make_once

from .drive import Outcome
from .targets import targets

_PLAIN_USER = 65533
_RUN_SECONDS = 200
"""The longest time for all probes of a user: on a loaded machine, each of 50 children can take seconds to start."""
_HERE = Path(__file__).parent
STARTED_BY = ("root, dropping to a user of the child's own", "a plain user") if os.getuid() == 0 else ("a plain user",)

REFUSED = [
    "read_passwd",
    "read_home",
    "list_home",
    "read_processes",
    "write_outside",
    "empty_a_file",
    "write_beside_the_bot",
    "open_a_file_to_all",
    "change_times",
    "date_its_answers",
    "watch_files",
    "send_to_a_queue",
    "look_at_memory",
    "take_contexts",
    "make_unlisted_calls",
    "read_anothers_clock",
    "time_anothers_clock",
    "take_all_timers",
    "read_anothers_cores",
    "read_anothers_policy",
    "read_its_priority",
    "lock_a_file",
    "lock_a_record",
    "ask_for_locks",
    "watch_a_folder",
    "delay_who_opens",
    "enlarge_a_pipe",
    "flag_a_file",
    "hide_its_files",
    "leave_its_processors",
    "open_files_of_a_thread",
    "split_its_open_files",
    "connect_tcp",
    "connect_tcp_elsewhere",
    "listen_tcp",
    "listen_tcp_unbound",
    "fast_open",
    "send_udp",
    "connect_unix",
    "pair_of_datagrams",
    "kill",
    "trace",
    "trace_self",
    "read_memory",
    "new_user_namespace",
    "outlive_the_zygote",
    "limit_others",
    "raise_limits",
    "become_root",
    "map_shared",
    "map_shared_zeros",
    "map_a_growing_stack",
    "start_a_sibling",
    "enlarge_buffers",
    "lock_a_socket_filter",
    "allocate",
    "anonymous_file",
    "fill_a_file",
    "open_many_files",
]
REFUSED_TO_PLUGINS = ["fork", "execute", "kill_everybody", "pass_a_file"]
REFUSED_ANYWAY = frozenset(
    {
        "read_processes",
        "write_beside_the_bot",
        "date_its_answers",
        "make_unlisted_calls",
        "take_all_timers",
        "leave_its_processors",
        "connect_tcp_elsewhere",
        "listen_tcp_unbound",
        "fast_open",
        "pair_of_datagrams",
        "kill",
        "trace",
        "read_memory",
        "new_user_namespace",
        "outlive_the_zygote",
        "limit_others",
        "raise_limits",
        "become_root",
        "open_many_files",
        "execute",
    }
)
"""Probes that the system refuses without the sandbox, too, or that have no outcome there."""
ALLOWED_WITHOUT_SANDBOX = [probe for probe in (*REFUSED, *REFUSED_TO_PLUGINS) if probe not in REFUSED_ANYWAY]
ALLOWED = [
    "import_modules",
    "read_beside_the_bot",
    "write_in_scratch",
    "copy_a_file",
    "choose_own_processors",
    "use_threads",
    "run_an_event_loop",
    "tell_the_time",
]
INSPECTED = ["open_fds", "environment", "who", "open_its_output_again"]
ENDINGS = {"hog_memory": 1, "spin": -signal.SIGXCPU, "crash": -signal.SIGSEGV, "call_as_x32": -signal.SIGSYS}
LIMITS = {"cpu_seconds": 2, "file_bytes": 1024 * 1024}


NEED_A_CHILD = frozenset(
    ["allocate", "open_many_files", "fill_a_file", "fork", "kill_everybody", "take_all_timers", *INSPECTED, *ENDINGS]
)
"""Probes that need a child of their own: they use up its limits, or inspect its start or end."""


class ProbeOutcomes(NamedTuple):
    """The outcomes of all probes, by kind of child and probe, of children started by one user."""

    started_by: str
    outcomes: dict[tuple[str, str], Outcome]


def _plan() -> list[tuple[str, list[str]]]:
    """Return the kind and the probes of each child."""
    plan: list[tuple[str, list[str]]] = []
    for kind, refused in (("py", [*REFUSED, *REFUSED_TO_PLUGINS]), ("exec", REFUSED)):
        together = [probe for probe in refused if probe not in NEED_A_CHILD]
        alone = [probe for probe in refused if probe in NEED_A_CHILD]
        plan += [(kind, together), (kind, ALLOWED)]
        plan += [(kind, [probe]) for probe in (*alone, *INSPECTED, *ENDINGS)]
    return [*plan, ("exec", ["start_a_program"])]


@pytest.fixture(scope="module", params=STARTED_BY)
def probe_outcomes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ProbeOutcomes:
    """Run all probes once, in children that the user of this parameter starts."""
    user = _PLAIN_USER if request.param == "a plain user" and os.getuid() == 0 else None
    plan = _plan()

    def drive(folder: Path) -> None:
        with targets(user) as place:
            children = [(kind, ",".join(probes), None) for kind, probes in plan]
            (folder / "outcomes.json").write_text(_run_plan(children, place, user))

    folder = make_once(tmp_path_factory, f"lock-{STARTED_BY.index(request.param)}", drive)
    child_outcomes = _read_outcomes((folder / "outcomes.json").read_text())
    outcomes: dict[tuple[str, str], Outcome] = {}
    for (kind, probes), child in zip(plan, child_outcomes, strict=True):
        got = [child.out] if len(probes) == 1 else [json.loads(line) for line in child.out.splitlines()]
        # If a probe ended its child, the next probes of that child have no answer.
        got += ["no answer"] * (len(probes) - len(got))
        outcomes |= {(kind, probe): replace(child, out=out) for probe, out in zip(probes, got, strict=True)}
    return ProbeOutcomes(request.param, outcomes)


def _run_plan(plan: Sequence[tuple[str, str, int | None]], place: dict[str, Any], user: int | None) -> str:
    written = json.dumps({"probes": plan, "targets": place, "user": user, "limits": LIMITS})
    paths = os.pathsep.join([*(path for path in sys.path if path), str(_HERE)])
    process = subprocess.run(
        [sys.executable, str(_HERE / "drive.py"), written],
        env={**os.environ, "PYTHONPATH": paths, "LANG": "C.UTF-8", "NOUGHTS_TOKEN": "very-secret"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=_RUN_SECONDS,
    )
    return process.stdout


def _read_outcomes(outcomes: str) -> list[Outcome]:
    return [Outcome(**row) for row in json.loads(outcomes)]


@pytest.fixture(scope="module")
def outcomes_without_sandbox(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Run all probes once without the sandbox, each in a process of its own, and return the answers by probe."""

    def run(folder: Path) -> None:
        with targets(_PLAIN_USER if os.getuid() == 0 else None) as place:
            probes = ",".join(ALLOWED_WITHOUT_SANDBOX)
            words = [sys.executable, str(_HERE / "probes.py"), probes, json.dumps(place), "apart"]
            with (folder / "answers").open("w") as answers:
                subprocess.run(words, cwd=place["open"], stdout=answers, check=True, timeout=_RUN_SECONDS)

    folder = make_once(tmp_path_factory, "without-sandbox", run)
    return dict(json.loads(line) for line in (folder / "answers").read_text().splitlines())


@pytest.mark.parametrize("probe", ALLOWED_WITHOUT_SANDBOX)
def test_without_the_sandbox_the_same_actions_succeed(outcomes_without_sandbox: dict[str, str], probe: str) -> None:
    assert outcomes_without_sandbox[probe].startswith("allowed")


def test_this_kernel_supports_the_whole_sandbox() -> None:
    assert gaps() == ()


@pytest.mark.parametrize("kind", ["py", "exec"])
@pytest.mark.parametrize("probe", REFUSED)
def test_a_child_is_refused(probe_outcomes: ProbeOutcomes, kind: str, probe: str) -> None:
    outcome = probe_outcomes.outcomes[kind, probe]
    assert outcome.out.startswith("refused"), f"{kind} started by {probe_outcomes.started_by}: {outcome}"


@pytest.mark.parametrize("probe", REFUSED_TO_PLUGINS)
def test_a_plugin_is_refused(probe_outcomes: ProbeOutcomes, probe: str) -> None:
    outcome = probe_outcomes.outcomes["py", probe]
    assert outcome.out.startswith("refused"), f"started by {probe_outcomes.started_by}: {outcome}"


@pytest.mark.parametrize("kind", ["py", "exec"])
@pytest.mark.parametrize("probe", ALLOWED)
def test_a_child_is_allowed(probe_outcomes: ProbeOutcomes, kind: str, probe: str) -> None:
    outcome = probe_outcomes.outcomes[kind, probe]
    assert outcome.out.startswith("allowed"), f"{kind} started by {probe_outcomes.started_by}: {outcome}"


@pytest.mark.parametrize("kind", ["py", "exec"])
def test_a_child_of_the_same_user_can_open_its_output_again(probe_outcomes: ProbeOutcomes, kind: str) -> None:
    if probe_outcomes.started_by == "a plain user":
        assert probe_outcomes.outcomes[kind, "open_its_output_again"].out.startswith("allowed")


def test_a_program_can_start_programs(probe_outcomes: ProbeOutcomes) -> None:
    assert probe_outcomes.outcomes["exec", "start_a_program"].out == "allowed: b'hello\\n'\n"


@pytest.mark.parametrize("kind", ["py", "exec"])
def test_a_child_has_no_other_files_than_its_pipes(probe_outcomes: ProbeOutcomes, kind: str) -> None:
    assert json.loads(probe_outcomes.outcomes[kind, "open_fds"].out) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["py", "exec"])
def test_environment_of_a_child_has_no_secret_and_a_separate_home(probe_outcomes: ProbeOutcomes, kind: str) -> None:
    variables = json.loads(probe_outcomes.outcomes[kind, "environment"].out)
    assert variables["HOME"] == variables["TMPDIR"]
    assert "/noughts-lock-" in variables["HOME"]
    assert str(_HERE) in variables["PYTHONPATH"]
    assert variables["LANG"] == "C.UTF-8"
    assert set(variables) <= {
        "HOME", "TMPDIR", "PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LANG", "LC_CTYPE",
    }  # fmt: skip


@pytest.mark.parametrize("kind", ["py", "exec"])
def test_a_child_leads_a_session_without_special_rights(probe_outcomes: ProbeOutcomes, kind: str) -> None:
    outcome = probe_outcomes.outcomes[kind, "who"]
    who = json.loads(outcome.out)
    assert who["pid"] == who["session"] == outcome.pid
    assert who["uid"] != 0
    assert 0 not in who["groups"]


def test_children_that_root_starts_run_as_separate_users(probe_outcomes: ProbeOutcomes) -> None:
    users = {json.loads(probe_outcomes.outcomes[kind, "who"].out)["uid"] for kind in ("py", "exec")}
    if probe_outcomes.started_by == "a plain user":
        assert users == {_PLAIN_USER if os.getuid() == 0 else os.getuid()}
    else:
        assert all(61184 <= user <= 65519 for user in users)


@pytest.mark.parametrize("kind", ["py", "exec"])
@pytest.mark.parametrize("probe", ENDINGS)
def test_child_that_exceeds_a_limit_ends_with_a_certain_code(
    probe_outcomes: ProbeOutcomes, kind: str, probe: str
) -> None:
    outcome = probe_outcomes.outcomes[kind, probe]
    assert outcome.code == ENDINGS[probe], f"{kind} started by {probe_outcomes.started_by}: {outcome}"


@pytest.mark.parametrize("started_by", STARTED_BY)
def test_a_program_that_connects_reaches_only_one_port(started_by: str) -> None:
    user = _PLAIN_USER if started_by == "a plain user" and os.getuid() == 0 else None
    with targets(user) as place:
        probes = ["connect_tcp", "connect_tcp_elsewhere", "listen_tcp", "fast_open", "send_udp", "connect_unix"]
        first, *others = _read_outcomes(_run_plan([("exec", probe, place["port"]) for probe in probes], place, user))
    assert first.out.startswith("allowed"), first
    for probe, outcome in zip(probes[1:], others, strict=True):
        assert outcome.out.startswith("refused"), f"{probe} started by {started_by}: {outcome}"
