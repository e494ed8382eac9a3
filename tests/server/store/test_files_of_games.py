"""Tables and reports of a file of games equal those of its database, for every format of tournaments and of files."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from noughts_server.competition import formats
from noughts_server.records.formats import read_games, writing_games
from noughts_server.records.recorded_game import RecordError
from noughts_server.records.replay import stored_record
from noughts_server.report.collect import collect
from noughts_server.report.page import page
from noughts_server.statistics.sprt import Sprt
from noughts_server.store.games.exports import about_stored, export, export_file
from noughts_server.store.games.standings import crosstable
from noughts_server.store.tournaments.tournaments import get_tournament
from noughts_server.tables.about import About
from noughts_server.tables.kinds import TableKind, make_table
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.tables.table import Table
from noughts_server.tables.tally import Tally
from tests.support.arena import open_arena
from tests.support.settings import repetitions

from .test_standings import BOTS, SETTINGS, play_with_ties

_SPRT = Sprt.parse("elo0=0,elo1=5")


def tables_and_report(title: str, games: list[RecordedGame], about: About) -> tuple[list[Table], str]:
    """Return all tables and the report, without dates, which files of games do not contain."""
    about = about._replace(began="", ended="")
    tally = Tally(games, about)
    text = page(collect(title, games, most_games=10, about=about), _SPRT)
    return [make_table(kind, tally) for kind in TableKind], text


def read_recorded_games(file: Path) -> list[RecordedGame]:
    games = [placed.game for placed in read_games(str(file))]
    assert not [game for game in games if isinstance(game, RecordError)]
    return [game for game in games if isinstance(game, RecordedGame)]


@pytest.mark.at_length
@pytest.mark.parametrize("seed", range(repetitions(2)))
@pytest.mark.parametrize("form", [str(tournament_format) for tournament_format in formats.FORMATS])
async def test_tables_and_report_of_a_file_equal_those_of_its_database(tmp_path: Path, form: str, seed: int) -> None:
    async with open_arena(tmp_path / "test.db") as arena:
        settings: dict[str, Any] = {"bots": BOTS, "games_per_pair": 2, **SETTINGS.get(form, {})}
        await arena.tournament(schedule=formats.format_named(form), **settings)
        await play_with_ties(arena, Random(seed))

        def write(connection: Any) -> tuple[list[RecordedGame], About]:
            tournament = get_tournament(connection, "cup")
            for suffix in (".jsonl", ".parquet"):
                with writing_games(str(tmp_path / f"games{suffix}")) as add:
                    for game in export_file(connection, tournament):
                        add(stored_record(game))
            stored = [stored_record(game) for game in export(connection, tournament.id)]
            return stored, about_stored(tournament, crosstable(connection, tournament, top=1))

        games, about = await arena.store.read(write)
    tables, report = tables_and_report("cup", games, about)
    games_of_file = read_recorded_games(tmp_path / "games.jsonl")
    assert read_recorded_games(tmp_path / "games.parquet") == games_of_file
    tables_of_file, report_of_file = tables_and_report("cup", games_of_file, About())
    if form == "ladder":  # a ladder never finishes by itself, and its file has a note about that
        unfinished_note = "The tournament was not finished when this file was written."
        tables_of_file[0] = replace(
            tables_of_file[0], notes=[note for note in tables_of_file[0].notes if note != unfinished_note]
        )
        report_of_file = report_of_file.replace(f"<p>{unfinished_note}</p>", "").replace(unfinished_note, "")
    assert tables_of_file == tables
    assert report_of_file == report or form == "ladder"
