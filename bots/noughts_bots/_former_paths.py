"""Modules of version 1.0.0 that moved: their former paths still work, with a DeprecationWarning."""

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

MOVED = {
    "noughts_bots.api": "noughts_bots.connection.run",
    "noughts_bots.ask": "noughts_bots.reference.ask",
    "noughts_bots.bot": "noughts_bots.sdk.bot",
    "noughts_bots.dialogue": "noughts_bots.connection.dialogue",
    "noughts_bots.errors": "noughts_bots.sdk.errors",
    "noughts_bots.event_loop": "noughts_bots.connection.event_loop",
    "noughts_bots.events": "noughts_bots.connection.events",
    "noughts_bots.failures": "noughts_bots.connection.failures",
    "noughts_bots.gym_env": "noughts_bots.adapters.gymnasium",
    "noughts_bots.pipe_session": "noughts_bots.connection.pipe_session",
    "noughts_bots.process": "noughts_bots.connection.process",
    "noughts_bots.reference_process": "noughts_bots.reference.__main__",
    "noughts_bots.session": "noughts_bots.connection.session",
    "noughts_bots.specs": "noughts_bots.reference.specs",
    "noughts_bots.stream": "noughts_bots.connection.stream",
    "noughts_bots.thinking_thread": "noughts_bots.connection.thinking_thread",
    "noughts_bots.training": "noughts_bots.reference.training",
    "noughts_bots.unhurried": "noughts_bots.sdk.unhurried",
}
"""The present path of each module by its path in version 1.0.0."""


class FormerPaths:
    """An importer for `sys.meta_path`, where it is the last one."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module with a former path; None for all other modules."""
        return ModuleSpec(name, cast("Loader", self)) if name in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make a module; `exec_module` replaces it."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace `module` by the module at the new path."""
        import warnings  # rarely needed, and a bot must start at once

        old = module.__name__
        new = MOVED[old]
        warnings.warn(f"{old} moved: import {new} instead", DeprecationWarning, stacklevel=2)
        # Python returns the entry of `sys.modules` to the caller after this method.
        sys.modules[old] = import_module(new)
