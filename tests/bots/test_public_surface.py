"""Authors of bots can import the public names, and the page about them is true."""

import importlib
import inspect
import re
import sys
import tomllib
from typing import Any

import pytest

import noughts_bots
from noughts_bots import Bot
from tests.support.root import ROOT

PAGE = ROOT / "docs" / "how-to" / "writing-a-bot.md"


def public_members(thing: type[Any]) -> list[str]:
    """The names of the methods and properties that a class itself offers."""
    kinds = (property, classmethod, staticmethod)
    return [
        name
        for name, value in vars(thing).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, kinds))
    ]


@pytest.mark.parametrize("name", [*noughts_bots.__all__, "ArrayBot", "Batch"])
def test_every_public_name_can_be_imported_and_has_a_docstring(name: str) -> None:
    thing = getattr(importlib.import_module("noughts_bots"), name)
    # It must have a docstring of its own: not a base class's, nor the signature that a dataclass gets by default.
    words = (vars(thing) if inspect.isclass(thing) else {"__doc__": thing.__doc__}).get("__doc__") or ""
    assert words.strip()
    assert not words.startswith(f"{name}(")


def test_a_star_import_brings_the_public_names_and_nothing_else() -> None:
    names: dict[str, object] = {}
    exec("from noughts_bots import *", names)
    assert set(names) - {"__builtins__"} == set(noughts_bots.__all__)


def test_public_names_other_than_array_bots_need_no_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "noughts_bots.sdk.arrays", raising=False)
    exec("from noughts_bots import *", {})
    with pytest.raises(ImportError, match="numpy"):
        exec("from noughts_bots import ArrayBot", {})


@pytest.mark.parametrize("name", public_members(Bot))
def test_every_method_that_a_bot_can_override_has_a_docstring(name: str) -> None:
    assert (getattr(Bot, name).__doc__ or "").strip()


def test_the_page_for_authors_imports_only_public_names() -> None:
    lines = re.findall(r"from noughts_bots import (.+)", PAGE.read_text(encoding="utf-8"))
    assert lines
    assert {name.strip() for line in lines for name in line.split(",")} <= set(noughts_bots.__all__)


def test_names_that_the_page_documents_exist() -> None:
    variant = noughts_bots.parse_variant("tictactoe")
    position = noughts_bots.Position(variant)
    table = re.findall(r"(?m)^\| (`position\..+?) \|", PAGE.read_text(encoding="utf-8"))
    offered = {name for row in table for name in re.findall(r"position\.(\w+)", row)}
    assert offered >= {"free", "own", "opponent", "side", "moves", "ply", "variant", "rng", "copy", "play"}
    assert [name for name in offered if not hasattr(position, name)] == []
    for name in ("name", "columns", "rows", "cells", "lines", "lines_through", "completes"):
        assert hasattr(variant, name)
    for name in ("below", "choice", "weighted"):
        assert hasattr(position.rng(), name)


def test_variant_completes_a_line_only_with_the_stone_included() -> None:
    position = noughts_bots.Position.parse(noughts_bots.parse_variant("tictactoe"), "XX.OO.... X")
    complete = position.variant.completes
    assert (complete(position.own | 1 << 2, 2), complete(position.own, 2)) == (True, False)
    assert "which must include `cell`" in PAGE.read_text(encoding="utf-8")


def test_the_extra_called_all_has_every_extra() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    (everything,) = extras.pop("all")
    assert set(everything.removeprefix("noughts[").removesuffix("]").split(",")) == set(extras)


def test_the_page_for_authors_imports_existing_adapters() -> None:
    names = re.findall(r"from noughts_bots\.adapters import ([\w, ]+)", PAGE.read_text(encoding="utf-8"))
    names += re.findall(r"noughts_bots\.adapters:(\w+)", PAGE.read_text(encoding="utf-8"))
    adapters = {name.strip() for line in names for name in line.split(",")}
    assert adapters >= {"BoardFunction", "Mcts", "OpenSpielBot", "PettingZooBot", "Submission"}
    for name in adapters:
        assert getattr(importlib.import_module("noughts_bots.adapters"), name).__name__ == name
    with pytest.raises(ImportError, match="cannot import name 'Nothing'"):
        exec("from noughts_bots.adapters import Nothing", {})


def test_an_adapter_loads_only_the_packages_that_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspiel", None)  # as where it is not installed
    monkeypatch.delitem(sys.modules, "noughts_bots.adapters.openspiel", raising=False)
    exec("from noughts_bots.adapters import BoardFunction, PettingZooBot", {})
    with pytest.raises(ImportError, match="pyspiel"):
        exec("from noughts_bots.adapters import OpenSpielBot", {})
