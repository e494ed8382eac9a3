"""`noughts bot new`: a small project for a new bot."""

import re
from pathlib import Path
from string import Template
from typing import Annotated

from typer import Argument, Option

from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.options.output import OutputOptions
from noughts_server.scaffolds import LANGUAGES, NAME_PATTERN, files_of


@command(
    example="""
$ noughts bot new mybot --language rust --folder mybot-rust
...
mybot-rust/src/lib.rs
Next: cd mybot-rust && make check   (needs Noughts, and Rust 1.78 or newer)
"""
)
def new(
    name: Annotated[str, Argument(metavar="NAME", help="Name of the bot and of its folder")],
    language: Annotated[
        str, Option("--language", "-l", metavar="LANGUAGE", help="Language: python, c, zig, rust, node or go")
    ] = "python",
    folder: Annotated[
        Path | None, Option("--folder", metavar="FOLDER", help="Folder to create. Default: NAME in this folder")
    ] = None,
    *,
    output: OutputOptions,
) -> None:
    """Create a small project with a working bot: its source, a check, CI and a README."""
    if language not in LANGUAGES:
        raise UsageProblem(f"--language {language!r}: expected one of {', '.join(LANGUAGES)}")
    if not re.fullmatch(NAME_PATTERN, name):
        raise UsageProblem(
            f"NAME {name!r}: expected 1 to 40 from a-z, 0-9, - and _, the first a letter: it names files, a "
            "package and the bot"
        )
    place, scaffold = folder or Path(name), LANGUAGES[language]
    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise Problem(f"{place}: it already exists, and is not empty", "Choose another name, or another --folder.")
    files = files_of(scaffold, name)
    with problems_with(f"{place}", OSError, raises=Problem):
        for path, text in files.items():
            target = place / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
    bot_class = re.search(r"^class (\w+)\(Bot\)", files.get(Path("bot.py"), ""), re.MULTILINE)
    spec = Template(scaffold.spec).safe_substitute(NAME=name, CLASS=bot_class[1] if bot_class else name)
    document = {
        "name": name,
        "language": language,
        "folder": str(place),
        "spec": spec,
        "files": sorted(map(str, files)),
    }
    output.show(document, "\n".join(str(place / path) for path in sorted(files)))
    output.hint(f"Next: cd {place} && make check" + (f"   (needs {scaffold.needs})" if scaffold.build else ""))
