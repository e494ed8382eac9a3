"""Small projects that `noughts bot new` writes: a folder for each language, and what all have in common.

Files end with `.template`; `$NAME` in them, and in their names, is the bot's name, `$CLASS` that as a class is written.
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
    name: str
    needs: str
    """The software that must be installed for it."""
    spec: str
    """The bot's spec in its folder, once it is built."""
    build: str = ""
    """The command that builds it; empty where nothing is built."""


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
    """The project's files, relative to its folder, and what is in them."""
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
    for part in (_COMMON, language.name):
        for file in sorted((_HERE / part).rglob(f"*{_SUFFIX}")):
            place = str(file.relative_to(_HERE / part)).replace("dot-", ".").removesuffix(_SUFFIX)
            text = file.read_text(encoding="utf-8")
            files[Path(Template(place).safe_substitute(words))] = Template(text).safe_substitute(words)
    return files
