"""The keys of a configuration file, from the options of the commands that read one."""

from __future__ import annotations

from typing import Any

from noughts_server.cli.config_file import COMMANDS
from tools.generated_pages.commands import all_commands, described
from tools.generated_pages.markdown import code, table

_NOT_SETTINGS = ("config", "print-config", "help")


def of_command(name: str) -> str:
    """Return the settings of `serve`, `referee` or `web`, in the order of the help."""
    if name not in COMMANDS:
        raise KeyError(name)
    [command] = [command for command in all_commands() if command.line == f"noughts {name}"]
    context = command.context
    options = {
        key: option
        for option in command.itself.get_params(context)
        if (key := max(option.opts, key=len).removeprefix("--")) not in _NOT_SETTINGS
    }
    return table(
        ("key", "value", "meaning", "default", "range"),
        (_row(name, key, option, context) for key, option in options.items() if not option.hidden),
    )


def _row(name: str, key: str, option: Any, context: Any) -> tuple[str, ...]:
    written, meaning, default, bounds = described(option, context, "reference")
    value = code(written.strip("`").rpartition(f"--{key}")[2].strip())
    if option.is_flag:
        value, default = "`true` or `false`", code(str(bool(option.default)).lower())
    elif option.multiple:
        value = f"list of {value}"
    shared = [code(variable) for variable in option.envvar or () if not variable.startswith(f"NOUGHTS_{name.upper()}_")]
    if shared:
        meaning += f" Also {', '.join(shared)} in the environment."
    return code(key), value, meaning, default, bounds
