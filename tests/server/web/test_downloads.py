"""Downloads of games: files of a whole tournament and of a single game."""

import csv
import io
import json

import pytest

from noughts_server.records.json_lines import json_line, read_json_lines
from noughts_server.records.pgn import read_pgn
from noughts_server.records.sgf import read_sgf
from noughts_server.tables.recorded_game import RecordedGame
from noughts_server.tables.tally import Tally
from noughts_server.testing import ServerUnderTest
from noughts_server.web import downloads
from noughts_server.web.signin import Visitor
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site


def tournament_in(site: Site, variant: str) -> str:
    """Return the name of the only tournament in this variant."""
    (name,) = (
        tournament["name"]
        for tournament in site.get("/api/v1/tournaments").document["tournaments"]
        if tournament["variant"] == variant
    )
    return str(name)


@pytest.mark.parametrize("page", [3, 1000])
def test_a_file_of_a_tournament_has_all_its_games(
    site: Site, cup: str, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloads, "_PAGE_SIZE", page)
    games = site.get(f"/api/v1/{cup}/games").document["games"]
    answer = site.get(f"/{cup}/games.jsonl")
    assert answer.headers["content-disposition"].endswith('.jsonl"')
    lines = [placed.game for placed in read_json_lines(answer.text.splitlines())]
    assert [
        (game.first, game.second, list(game.moves), game.result) for game in lines if isinstance(game, RecordedGame)
    ] == [(game["first"], game["second"], game["moves"], game["result"]) for game in games]
    rows = list(csv.DictReader(io.StringIO(site.get(f"/{cup}/games.csv").text)))
    assert [(row["name"], row["moves"]) for row in rows] == [
        (game["name"], " ".join(map(str, game["moves"]))) for game in games
    ]
    trees = [placed.game for placed in read_sgf(io.StringIO(site.get(f"/{cup}/games.sgf").text))]
    assert [game.moves for game in trees if isinstance(game, RecordedGame)] == [tuple(game["moves"]) for game in games]
    properties = [dict(game.more) for game in trees if isinstance(game, RecordedGame)]
    assert properties[-1].pop("tournament")["games"] == len(games)
    assert properties == [{"event": cup.removeprefix("tournaments/"), "date": game["end_time"][:10]} for game in games]


def test_a_line_of_a_file_is_that_of_the_command_line(site: Site, cup: str, server: ServerUnderTest) -> None:
    line = json.loads(site.get(f"/{cup}/games.jsonl").text.splitlines()[0])
    assert line["seed_text"] == str(line["seed"])
    assert len(line["times_ms"]) == len(line["moves"])
    (read_game,) = (placed.game for placed in read_json_lines([json.dumps(line)]))
    assert isinstance(read_game, RecordedGame)
    assert json.loads(json_line(read_game)) == line


def test_results_of_a_tournament_come_as_pgn(site: Site, cup: str) -> None:
    assert f'href="/{cup}/games.pgn"' in site.get(f"/{cup}").text
    games_of_file = [placed.game for placed in read_pgn(site.get(f"/{cup}/games.pgn").text.splitlines())]
    games_of_api = site.get(f"/api/v1/{cup}/games").document["games"]
    assert [(game.first, game.second, game.result) for game in games_of_file if isinstance(game, RecordedGame)] == [
        (game["first"], game["second"], game["result"]) for game in games_of_api
    ]


def test_column_round_is_empty_without_rounds(site: Site, cup: str) -> None:
    rows = list(csv.DictReader(io.StringIO(site.get(f"/{cup}/games.csv").text)))
    assert {row["round"] for row in rows} == {""}


@pytest.mark.parametrize("schedule", ["swiss", "knockout", "danish"])
def test_files_of_a_tournament_have_its_byes_and_bracket(site: Site, server: ServerUnderTest, schedule: str) -> None:
    token = server.token("ada")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    rounds = {} if schedule == "knockout" else {"rounds": "2"}
    created = site.post("/organise", {**form, "id": schedule, "schedule": schedule, **rounds}, cookie=cookie)
    path, bots = created.headers["location"], {f"{schedule}{number}": "random" for number in range(3)}
    with bots_online(server.address, token, **bots):
        for bot in bots:
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        assert site.post(f"{path}/start", form, cookie=cookie).status == 303
        eventually(lambda: "finished" in site.get(path).text)
    standings = site.get(f"/api/v1{path}").document["standings"]
    lines, trees = site.get(f"{path}/games.jsonl").text.splitlines(), io.StringIO(site.get(f"{path}/games.sgf").text)
    for placed in (read_json_lines(lines), read_sgf(trees)):
        tally = Tally(game for _, game, _ in placed if isinstance(game, RecordedGame))
        ranks = [(row.label, row.rank, row.points, tally.about.byes.get(row.label, 0)) for row in tally.standings()]
        assert ranks == [(row["label"], row["rank"], row["points"], row["byes"]) for row in standings]
        assert tally.about.schedule == schedule
        assert [match.games for match in tally.about.matches].count(0) == (1 if schedule == "knockout" else 2)


def test_lines_of_games_with_clocks_have_the_time_margins(site: Site, server: ServerUnderTest) -> None:
    token = server.token("ada")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    settings = {"id": "margins", "schedule": "round_robin", "games_per_pair": "2", "move": "1", "margin_ms": "1500"}
    path = site.post("/organise", {**form, **settings}, cookie=cookie).headers["location"]
    with bots_online(server.address, token, quick="random", slow="random"):
        for bot in ("quick", "slow"):
            assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
        assert site.post(f"{path}/start", form, cookie=cookie).status == 303
        eventually(lambda: "finished" in site.get(path).text)
    lines = list(map(json.loads, site.get(f"{path}/games.jsonl").text.splitlines()))
    assert [(line["margins_ms"], line["late_moves"]) for line in lines] == [([1500, 1500], [0, 0])] * 2


def test_a_missing_or_impossible_file_is_an_error_with_a_reason(site: Site, server: ServerUnderTest) -> None:
    assert site.get("/tournaments/none/games.jsonl").status == 404
    server.match("random", "first-free", games=2, variant="qubic")
    cube = tournament_in(site, "qubic")
    answer = site.get(f"/{cube}/games.sgf")
    assert answer.status == 409
    assert "JSONL can hold them all" in answer.text
    assert site.get(f"/{cube}/games.jsonl").status == 200


def test_a_single_game_is_downloaded_as_sgf(site: Site, cup: str) -> None:
    answer = site.get(f"/{cup}/games/2.sgf")
    assert answer.headers["content-type"] == "application/x-go-sgf"
    assert answer.headers["content-disposition"].endswith('-2.sgf"')
    (tree,) = read_sgf(io.StringIO(answer.text))
    assert isinstance(tree.game, RecordedGame)
    assert list(tree.game.moves) == site.get(f"/api/v1/{cup}/games/2").document["game"]["moves"]
    assert site.get(f"/{cup}/games/99.sgf").status == 404
