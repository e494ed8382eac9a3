"""The projects that `noughts bot new` writes, as templates: a folder for each language, and the folder `common`.

The names of templates end with `.template`. In templates and in their names, `$NAME` is the bot's name, and `$CLASS` is
the name in the form of a class name.
"""

import re
from pathlib import Path
from string import Template
from typing import NamedTuple

NAME_PATTERN = r"[a-z][a-z0-9_-]{0,39}"
_HERE = Path(__file__).parent
_SUFFIX = ".template"
_COMMON = "common"


class Language(NamedTuple):
    """A language of bots."""

    name: str
    needs: str
    """The software that must be installed."""
    spec: str
    """The spec of the bot, as seen from the folder of the project after the build."""
    build: str = ""
    """The command that builds the bot; empty if there is nothing to build."""


_LANGUAGES = (
    Language(
        name="python",
        needs="Noughts",
        spec="py:./bot.py:$CLASS",
    ),
    Language(
        name="c",
        needs="Noughts, and a C compiler (for WebAssembly Zig or clang)",
        spec="dll:./$NAME.so",
        build="make",
    ),
    Language(
        name="zig",
        needs="Noughts, and Zig 0.14 or newer",
        spec="dll:./$NAME.so",
        build="make",
    ),
    Language(
        name="rust",
        needs="Noughts, and Rust 1.78 or newer",
        spec="dll:./target/release/libbot.so",
        build="make",
    ),
    Language(
        name="node",
        needs="Noughts, and Node.js 18 or newer",
        spec="exec{frames=json}:node --jitless bot.js",
    ),
    Language(
        name="go",
        needs="Noughts, and Go 1.21 or newer",
        spec="exec{frames=json}:./bot",
        build="make",
    ),
)
LANGUAGES = {language.name: language for language in _LANGUAGES}
"""The languages of `noughts bot new`. Each has a folder of templates here."""


def files_of(language: Language, name: str) -> dict[Path, str]:
    """Return the contents of the project's files, by their paths in its folder."""
    words = {
        "NAME": name,
        "CLASS": "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", name)) or "Bot",
        "LANGUAGE": language.name,
        "MAKE": language.build,
        "NEEDS": language.needs,
        "BUILD": f"{language.build}\n" if language.build else "",
    }
    words["SPEC"] = Template(language.spec).safe_substitute(words)
    files: dict[Path, str] = {}
    for folder in (_HERE / _COMMON, _HERE / language.name):
        for template in sorted(folder.rglob(f"*{_SUFFIX}")):
            # The names of hidden files begin with `dot-` here.
            path = str(template.relative_to(folder)).replace("dot-", ".").removesuffix(_SUFFIX)
            text = template.read_text(encoding="utf-8")
            files[Path(Template(path).safe_substitute(words))] = Template(text).safe_substitute(words)
    return files
