"""`noughts bot submit`: a bot that the server runs."""

import io
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn
from typer import Argument, Option

from noughts_bots.reference.specs import name_from
from noughts_proto.child_kinds import module_and_class
from noughts_proto.v1 import bots_pb2 as pb
from noughts_proto.v1 import tests_pb2, tokens_pb2, tournaments_pb2
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.errors import Problem, UsageProblem, problems_with
from noughts_server.cli.options.formats import read_sprt
from noughts_server.cli.options.game import PacedConcurrencyOption, read_variant, variant_option
from noughts_server.cli.options.names import read_tournament
from noughts_server.cli.options.openings import read_openings
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import ServerOptions
from noughts_server.cli.options.statistics import SprtOption
from noughts_server.client.client import Client
from noughts_server.client.failures import CallFailed
from noughts_server.client.submissions import TRIAL_SECONDS, file_kind, submission_requests
from noughts_server.competition.tournament_settings import TournamentSettings
from noughts_server.convert.settings import openings_message
from noughts_server.core.errors import InvalidArgument
from noughts_server.core.resource_names import bot_name, short
from noughts_server.openings.settings import OpeningsKind
from noughts_server.store.people.scopes import ORGANISE, PLAY, permits, play_as
from noughts_server.store.validation import check_name

_TRIAL_HINT = "The server tests the bot, for at most 90 s once it is its turn."
_MOST_FILES = 1_000
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # A constant, so that equal files give equal archives.
_IGNORED_FOLDERS = {"__pycache__", ".git", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"}


@command(
    example="""
$ noughts bot submit my_bot.py --name centre --enter cup
...
centre, version 1: the server has tested it and runs it (249 bytes).
It is entered in cup.
"""
)
def submit(
    file: Annotated[
        Path, Argument(metavar="FILE|FOLDER", help="WebAssembly module, Python file, or folder with a bot.py")
    ],
    name: Annotated[str, Option("--name", metavar="NAME", help="Name of the bot. Default: the file name")] = "",
    version: Annotated[str, Option("--version", metavar="V", help="Version. Default: the next number")] = "",
    entry: Annotated[
        str,
        Option("--class", "--entry", metavar="FILE.py:CLASS", help="Class of the bot; required if there are several"),
    ] = "",
    variant: Annotated[
        str, variant_option("Variant of the trial game. Default: one the bot declares, else tictactoe")
    ] = "",
    enter: Annotated[
        list[str] | None, Option("--enter", metavar="TOURNAMENT", help="Tournament to enter as well (repeatable)")
    ] = None,
    test_against: Annotated[
        str, Option("--test-against", metavar="VERSION", help="Version of the bot to test this one against")
    ] = "",
    sprt: SprtOption = None,
    openings: Annotated[
        str,
        Option(
            "--openings",
            metavar="WHICH",
            help="Openings of the test. Default: as many plies as it needs",
            rich_help_panel="Openings",
        ),
    ] = "",
    concurrency: PacedConcurrencyOption = 0,
    *,
    server: ServerOptions,
    output: OutputOptions,
) -> None:
    """Submit a bot as a file or a folder. The server tests it, and runs it whenever a tournament needs it.

    The operator decides which kinds the server accepts: usually WebAssembly, rarely Python. Each submission is a new
    version with a rating of its own. The token needs the scope `submit`; `--enter` also needs `play`, and
    `--test-against` also needs `play` and `organise`. It creates a test as `noughts test create` does, of --variant
    (default: the first that the bot declares, else tictactoe), with --sprt (default: elo0=0,elo1=5), --openings and
    --concurrency.
    """
    file, entry = _read_spec(file, entry)
    content, kind = _read_content(file)
    if not file.is_dir():
        entry = entry.removeprefix(file.name)  # the server gives a single file a name of its own
    with problems_with("--name" if name else f"{file}", InvalidArgument, hint="Name the bot: --name NAME."):
        name = check_name("the bot's name", name or name_from(file.resolve().stem))
    submission = pb.Submission(
        bot=name, version=version, kind=kind, entry=entry, file_name=file.resolve().name, variant=variant
    )
    tournaments = [read_tournament(tournament) for tournament in enter or ()]
    if sprt is not None:
        read_sprt(sprt)
    test_options = {"--sprt": sprt, "--openings": openings, "--concurrency": concurrency}
    for option, value in test_options.items():
        if value and not test_against:
            raise UsageProblem(f"{option} {value}: got no test, expected --test-against VERSION as well")
    match = tournaments_pb2.Tournament(variant=variant, sprt=sprt or "", concurrency=concurrency)
    if openings and variant:
        match.openings.MergeFrom(_read_openings(openings, variant))
    test: tests_pb2.Test | None = None
    with server.connected(token_needed=True) as client:
        if test_against:
            _require_scopes(client, name)
            _require_version(client, name, test_against)
        with _progress(output, len(content)) as show_sent:
            requests = submission_requests(submission, content, show_sent)
            with _naming_options(file, entry.strip(":")):
                response = client.call(client.bots.SubmitBot, requests, seconds=TRIAL_SECONDS)
        created = response.version
        label = f"{name}, version {created.submission.version}"
        if test_against and response.unchanged:
            raise Problem(
                f"--test-against {test_against}: this file is {label}, so there is no new version to test",
                "Test other versions: noughts test create NEW BASE",
            )
        for tournament in tournaments:
            joining = tournaments_pb2.JoinTournamentRequest(name=tournament, bot=created.name)
            client.call(client.tournaments.JoinTournament, joining)
        if test_against:
            if not variant:
                match.variant = response.variant
            if openings and not variant:
                match.openings.MergeFrom(_read_openings(openings, response.variant or TournamentSettings().variant))
            request = tests_pb2.Test(
                new_version=created.name, base_version=bot_name(name, test_against), tournament=match
            )
            test = client.call(client.tests.CreateTest, tests_pb2.CreateTestRequest(test=request)).test
    advice = "" if test is None else test.tournament.match_details.advice
    document = {
        "bot_version": created.name,
        "kind": created.submission.kind,
        "bytes": created.submission.size,
        "sha256": created.submission.sha256.hex(),
        "unchanged": response.unchanged,
        "entered": tournaments,
        "test": None if test is None else test.name,
        "advice": advice,
    }
    lines = [
        f"{label} already has this file."
        if response.unchanged
        else f"{label}: the server has tested it and runs it ({created.submission.size:,} bytes)."
    ]
    lines += [f"It is entered in {short(tournament)}." for tournament in tournaments]
    if test is not None:
        lines.append(f"It is tested against version {test_against} in {short(test.name)}.")
        if advice:
            lines.append(advice)
        output.hint(f"Wait for the result: noughts test wait {short(test.name)}")
    output.show(document, "\n".join(lines))
    if not tournaments and test is None and not response.unchanged:
        output.hint(f"Enter it: noughts tournament join TOURNAMENT --bot {name}")


def _read_spec(file: Path, entry: str) -> tuple[Path, str]:
    """Return the file and the class. FILE can also be a spec, as for `bot check`: `py:bot.py:Centre`."""
    prefix, _, path = str(file).partition(":")
    if prefix not in ("py", "wasm") or file.exists():
        return file, entry
    module, class_name = module_and_class(path)
    file = Path(module or path)
    return file, entry or (f"{file.name}:{class_name}" if module else "")


@contextmanager
def _naming_options(file: Path, entry: str) -> Iterator[None]:
    """Replace fields of the submission by the user's option or file, in errors that the server returns in the block."""
    options = {
        "submission.bot": "--name",
        "import": "import",
        "submission.version": "--version",
        "submission.variant": "--variant",
        "submission.entry": f"--class {entry}" if entry else f"{file}",
    }
    try:
        yield
    except CallFailed as failure:
        if failure.field.partition(".")[0] not in ("submission", "chunk", "zip", "import"):
            raise
        reason = failure.message.removeprefix(failure.field)
        if file.suffix == ".py" and not file.is_dir():
            reason = reason.replace("bot.py", file.name)  # the server gives a single file a name of its own
        raise UsageProblem(f"{options.get(failure.field, file)}{reason}", failure.hint) from failure


def _read_openings(text: str, variant: str) -> tournaments_pb2.Openings:
    """Return the openings of a test. Raises UsageProblem."""
    message = openings_message(read_openings(text, "sequential", False, read_variant(variant)))
    return message or tournaments_pb2.Openings(kind=OpeningsKind.NONE)


def _require_scopes(client: Client, bot: str) -> None:
    """Raise Problem unless the token permits a test of this bot."""
    token = client.call(client.tokens.GetToken, tokens_pb2.GetTokenRequest(name="tokens/self")).token
    permissions = {ORGANISE: ORGANISE, PLAY: play_as(bot)}
    missing_scopes = [scope for scope, permission in permissions.items() if not permits(token.scopes, permission)]
    if missing_scopes:
        raise Problem(
            f"--test-against: the token lacks the scope `{missing_scopes[0]}`; it has {' '.join(token.scopes)}",
            f"The operator can create one: noughts token create --owner {token.owner} --scope submit --scope "
            "play --scope organise",
        )


def _require_version(client: Client, bot: str, version: str) -> None:
    """Raise Problem if a bot has no such version among the newest 100."""
    versions = client.call(client.bots.GetBot, pb.GetBotRequest(name=bot_name(bot))).versions
    if bot_name(bot, version) not in {row.name for row in versions}:
        raise Problem(f"--test-against {version}: {bot} has no such version among its newest 100")


def _read_content(file: Path) -> tuple[bytes, str]:
    """Return the bot's content and kind. Raises Problem for an unreadable file, UsageProblem for another kind."""
    with problems_with(f"{file}", OSError, raises=Problem, expected="a file or a folder"):
        if file.is_dir():
            return _pack(file), "py"
        content = file.read_bytes()
    if not content:
        raise Problem(f"{file}: got an empty file, expected a bot")
    if (kind := file_kind(file.name, content)) is not None:
        return content, kind
    raise UsageProblem(
        f"{file}: expected a WebAssembly module (.wasm), a Python file (.py) or a folder",
        "Run native libraries and programs yourself: noughts bot run",
    )


def _pack(folder: Path) -> bytes:
    """Return the folder as a zip file, with the same bytes for the same content."""
    files = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _IGNORED_FOLDERS)
        files += [Path(root) / name for name in names if not name.endswith((".pyc", ".zip"))]
        if len(files) > _MOST_FILES:
            raise Problem(f"{folder}: got more than {_MOST_FILES:,} files, expected a folder with only the bot")
    if not (folder / "bot.py").is_file():
        raise Problem(f"{folder}: got a folder without bot.py, expected the bot in that file; or submit a single file")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for file in sorted(files):
            member = zipfile.ZipInfo(file.relative_to(folder).as_posix(), _ZIP_TIME)
            member.compress_type = zipfile.ZIP_DEFLATED
            member.external_attr = 0o644 << 16  # The upper half contains the Unix permissions.
            archive.writestr(member, file.read_bytes())
    return buffer.getvalue()


@contextmanager
def _progress(output: OutputOptions, size: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that shows the number of bytes sent: as a bar on a terminal, else only a hint at the end."""
    console = printing.stderr()
    if not console.is_terminal:

        def show_hint(sent: int) -> None:
            if sent == size:
                output.hint(_TRIAL_HINT)

        yield show_hint
        return

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("uploading", total=size)

        def update(sent: int) -> None:
            bar.update(task, completed=sent, description=_TRIAL_HINT if sent == size else "uploading")

        yield update
