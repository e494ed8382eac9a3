"""The command `noughts records check`."""

from collections.abc import Sequence

from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.records.files import FileArgument
from noughts_server.cli.game_sources import FileDialect
from noughts_server.cli.options.output import OutputOptions
from noughts_server.records.formats import WITHOUT_MOVES, format_of, read_games
from noughts_server.records.replay import Finding, check_games


@command(
    example="""
$ noughts records check games.jsonl
30 games: nothing wrong
"""
)
def check(file: FileArgument, *, files: FileDialect, output: OutputOptions) -> None:
    """Replay every game in a file according to the rules and report errors.

    Exit code 1 if there are any. A file without games is an error.
    """
    games = 0
    errors_found: list[Finding] = []

    def report(findings: Sequence[Finding]) -> None:
        errors_found.extend(findings)
        for finding in findings if not output.is_json else ():
            text = f"{finding.file or file}, line {finding.line}: {finding.error}"
            printing.stdout().print(printing.printable(text), soft_wrap=True)

    games_with_places = read_games(file, dialect=files.dialect)
    for findings in check_games(games_with_places, with_moves=format_of(file) not in WITHOUT_MOVES):
        games += 1
        report(findings)
    if not games:
        report([Finding(1, "got a file without games, expected at least one")])
    verdict = printing.count(len(errors_found), "error") if errors_found else "nothing wrong"
    errors: list[dict[str, object]] = []
    for finding in errors_found:
        error: dict[str, object] = {"line": finding.line, "error": finding.error}
        if finding.file:
            error["file"] = finding.file
        errors.append(error)
    output.show({"games": games, "errors": errors}, f"{printing.count(games, 'game')}: {verdict}")
    if errors_found:
        raise SystemExit(1)
