"""Every command: where the help lists it, and the function that runs it, as `tree.txt` has them.

To add one, write a function with a docstring in `bots/`, `local/`, `operator/` or `remote/`, declare it with `command`,
and name it in `tree.txt`. Its module is imported when the command runs.
"""

from noughts_server.cli.texts import sections, table

FORMER_NAMES = "Former names"
"""Commands under this heading work, but no help lists them."""
TREE: dict[str, dict[str, dict[str, str]]] = {}
"""By what the user types for a group, e.g. `noughts bot`: its members by heading and name.

A member is a command's function as `MODULE:FUNCTION` under `noughts_server.cli`, or what a group is for.
"""

for _heading in sections("tree.txt"):
    _line, _, _panel = _heading.partition(": ")
    TREE.setdefault(_line, {})[_panel] = table("tree.txt", _heading)
