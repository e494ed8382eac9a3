"""`noughts bot header`: the header for players in C."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.tools import compiler, run


def test_header_is_there_and_compiles(noughts: Any, tmp_path: Path) -> None:
    path = Path(noughts("bot header").stdout.strip())
    assert path.name == "noughts_bot.h"
    document = json.loads(noughts("bot header --format json").stdout)
    assert document == {"header": str(path), "folder": str(path.parent), "version": 1}
    assert noughts("bot header --folder").stdout.strip() == str(path.parent)
    (tmp_path / "bot.c").write_text('#include "noughts_bot.h"\n')
    strict = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
    run(*compiler("cc"), *strict, "-I", path.parent, "-c", "-o", tmp_path / "bot.o", tmp_path / "bot.c")
