"""Authors who import modules by their paths of version 1.0.0 get the same modules and a warning."""

import subprocess
import sys
from importlib import import_module

import pytest

LOOSE_MODULES_OF_1_0_0 = [
    "api",
    "ask",
    "bot",
    "dialogue",
    "errors",
    "event_loop",
    "events",
    "failures",
    "gym_env",
    "pipe_session",
    "process",
    "reference_process",
    "session",
    "specs",
    "stream",
    "thinking_thread",
    "training",
    "unhurried",
]


@pytest.mark.parametrize("name", LOOSE_MODULES_OF_1_0_0)
def test_a_path_of_version_1_0_0_imports_the_moved_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, f"noughts_bots.{name}", raising=False)
    with pytest.warns(DeprecationWarning, match=rf"noughts_bots\.{name} moved: import noughts_bots\.") as warnings:
        module = import_module(f"noughts_bots.{name}")
    assert str(warnings[0].message).endswith(f"import {module.__name__} instead")
    assert module is sys.modules[module.__name__]


@pytest.mark.processes
def test_the_warning_names_the_line_of_the_author() -> None:
    program = "from noughts_bots.bot import Bot\nfrom noughts_bots import session\nprint(Bot, session.play)"
    command = [sys.executable, "-W", "always", "-c", program]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stderr.splitlines() == [
        "<string>:1: DeprecationWarning: noughts_bots.bot moved: import noughts_bots.sdk.bot instead",
        "<string>:2: DeprecationWarning: noughts_bots.session moved: import noughts_bots.connection.session instead",
    ]


def test_an_unknown_module_raises_module_not_found() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"noughts_bots\.nothing"):
        import_module("noughts_bots.nothing")
