"""Kaggle ConnectX submissions, unchanged: `py{file=submission.py}:noughts_bots.adapters.kaggle:Submission`.

A submission is a file, or an archive or a folder of several files with `main.py` at the top (`file=submission.tar.gz`).
The agent is the last callable in the file, as on Kaggle: `agent(observation, configuration)` -> column. The board is a
list of 0, 1 and 2, row by row from the top; the marks are 1 and 2. No Kaggle package is needed.
"""

import atexit
import inspect
import lzma
import os
import runpy
import shutil
import sys
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from noughts_bots.adapters.planes import by_player, cell_of_action
from noughts_bots.hosts import folder
from noughts_bots.sdk.bot import Bot
from noughts_bots.sdk.errors import BotSpecError
from noughts_referee.rules import Position

_DEFAULT_TIMEOUT = 2.0
"""Seconds for a move in the configuration of games without a clock, as at Kaggle."""
_OVERAGE_SECONDS = 60.0
"""Kaggle's additional seconds of a game. The time to load the agent is taken from them."""
_MAIN = "main.py"
LARGEST_BYTES = 200 << 20
"""Limit of the sum of the bytes of an archive's files. Kaggle's limit is about the same."""
_MOST_FILES = 10_000


class Struct(dict[str, Any]):
    """A dict whose items are also attributes, because agents use both."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Submission(Bot):
    """The agent of a file. It plays every variant with gravity on a flat board whose lines have one length."""

    def __init__(self, file: str) -> None:
        self._agent = agent_of(folder() / Path(file).expanduser())
        self._argument_count = _argument_count(self._agent)

    def choose(self, position: Position) -> int:
        variant = position.variant
        lengths = set(map(len, variant.line_cells))
        if not variant.gravity or variant.layers != 1 or len(lengths) != 1:
            raise ValueError(f"got {variant.name}, expected a variant with gravity on a flat board, e.g. connect4")
        seconds = position.limit_us / 1e6 if position.own_clock_us else _DEFAULT_TIMEOUT
        configuration = Struct(
            columns=variant.columns, rows=variant.rows, inarow=lengths.pop(), timeout=seconds, actTimeout=seconds,
            agentTimeout=_OVERAGE_SECONDS, episodeSteps=1000, runTimeout=1200,
        )  # fmt: skip
        observation = Struct(
            board=by_player(position), mark=position.side + 1, step=len(position.moves),
            remainingOverageTime=_OVERAGE_SECONDS,
        )  # fmt: skip
        answer = self._agent(*(observation, configuration)[: self._argument_count])
        return cell_of_action(position, answer)


def agent_of(file: Path) -> Callable[..., Any]:
    """Return the last callable of a submission. Raises BotSpecError.

    Submissions of several files run in their own folder.
    """
    subject = f"bot {file.name!r}"
    if file.is_dir() or file.name.endswith((".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")):
        file = (file if file.is_dir() else _unpack(file, subject)) / _MAIN
        if not file.is_file():
            advice = f"put {_MAIN} at the top, not in a folder"
            raise BotSpecError(subject, f"no {_MAIN}", f"a submission with {_MAIN}", advice)
        os.chdir(file.parent)
    elif not file.is_file():
        raise BotSpecError(subject, f"{file}, which is not a file", "a submission", "fix the path")
    sys.path.insert(0, str(file.parent))
    began = time.monotonic()
    names = runpy.run_path(str(file), run_name="submission")
    callables: list[Callable[..., Any]] = [value for value in names.values() if callable(value)]
    if not callables:
        advice = "end it with def agent(observation, configuration)"
        raise BotSpecError(subject, "no callable in it", "an agent as the last callable", advice)
    if (took := time.monotonic() - began) > _OVERAGE_SECONDS:
        print(f"the submission took {took:.0f} s to load", file=sys.stderr)  # noqa: T201  # for its author
    return callables[-1]


def _unpack(archive: Path, subject: str) -> Path:
    """Unpack an archive into a temporary folder, and return the folder. Raises BotSpecError."""
    target = Path(tempfile.mkdtemp(prefix="submission-"))
    atexit.register(shutil.rmtree, target, ignore_errors=True)
    bytes_left = LARGEST_BYTES
    try:
        with tarfile.open(archive) as files:
            for number, member in enumerate(files):
                bytes_left -= member.size
                if bytes_left < 0 or number >= _MOST_FILES:
                    got = "a larger archive"
                    limits = f"at most {_MOST_FILES:,} files with {LARGEST_BYTES >> 20} MiB"
                    raise BotSpecError(subject, got, limits, "leave out what the agent does not need")
                _extract(files, member, target)
    except (OSError, EOFError, tarfile.TarError, zlib.error, lzma.LZMAError) as error:
        got = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise BotSpecError(subject, got, "an archive as Kaggle accepts it", "pack it as in tar czf") from None
    return target


def _extract(files: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    """Write a member of the archive into the folder. Raises tarfile.TarError for one outside the folder."""
    if hasattr(tarfile, "data_filter"):
        files.extract(member, target, filter="data")
        return
    # Python 3.11.0 to 3.11.3 cannot filter: write only plain files and folders, inside the folder.
    place = (target / member.name).resolve()
    if not place.is_relative_to(target.resolve()) or not (member.isfile() or member.isdir()):
        raise tarfile.TarError(f"{member.name!r} is not a file or folder inside the archive")
    files.extract(member, target, set_attrs=False)


def _argument_count(agent: Callable[..., Any]) -> int:
    """Return how many of the two arguments (observation, configuration) an agent takes."""
    kinds = [parameter.kind for parameter in inspect.signature(agent).parameters.values()]
    return 2 if inspect.Parameter.VAR_POSITIONAL in kinds else min(2, len(kinds))
