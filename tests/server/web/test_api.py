"""The JSON API: answers conform to its OpenAPI document, and errors have messages."""

import csv
import io
import re
from typing import Any
from urllib.parse import quote

import grpc
import pytest
from jsonschema import Draft202012Validator

from noughts_proto.v1 import bots_pb2, tests_pb2
from noughts_server.client.stubs import Stubs
from noughts_server.testing import ServerUnderTest
from noughts_server.web.api_routes import PREFIX, ROUTES
from noughts_server.web.documents import csv_text
from noughts_server.web.openapi import openapi
from tests.server.web.test_tunings_pages import tuning_work
from tests.support.client import bearer
from tests.support.site import Site

DOCUMENT = openapi()


@pytest.fixture(scope="module", autouse=True)
def queued_test(server: ServerUnderTest) -> None:
    """A test of two bots that are not online: `tests/try`."""
    metadata = bearer(server.token("tess"))
    with grpc.insecure_channel(server.address) as channel:
        stubs = Stubs(channel)
        for name in ("new", "old"):
            stubs.bots.RegisterBot(bots_pb2.RegisterBotRequest(name=f"bots/{name}"), metadata=metadata)
        test = tests_pb2.Test(name="tests/try", new_version="bots/new", base_version="bots/old")
        stubs.tests.CreateTest(tests_pb2.CreateTestRequest(test=test), metadata=metadata)


@pytest.fixture(scope="module", autouse=True)
def tuning(server: ServerUnderTest) -> None:
    """A tuning: `tunings/weights`."""
    with tuning_work(server, "weights", 30) as work:
        work.play(25)


def example_path(path: str, cup: str) -> str:
    """Return the path of a route with the names of existing resources."""
    names = {"tournament": cup.partition("/")[2], "number": "1", "bot": "pascal", "opponent": "random", "test": "try"}
    names |= {"tuning": "weights", "variant": "tictactoe", "time_class": "untimed"}
    return PREFIX + re.sub(r"\{(\w+)(?::int)?\}", lambda found: names[found[1]], path)


def validate(answer: Any, path: str) -> None:
    """Fail if the answer does not conform to the schema of this path in the OpenAPI document."""
    schema = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(answer)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: route.path)
def test_every_route_answers_as_the_openapi_document_says(site: Site, cup: str, route: Any) -> None:
    answer = site.get(example_path(route.path, cup))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    validate(answer.document, PREFIX + route.path.replace(":int", ""))


def test_the_openapi_document_has_no_broken_references(site: Site) -> None:
    served = site.get(f"{PREFIX}/openapi.json").document
    assert served == DOCUMENT
    references = set(re.findall(r"'#/components/(\w+)/(\w+)'", str(DOCUMENT)))
    assert references
    assert all(name in DOCUMENT["components"][kind] for kind, name in references)


def test_a_game_has_the_fields_of_the_contract(site: Site, cup: str) -> None:
    game = site.get(f"{PREFIX}/{cup}/games/1").document["game"]
    assert game["name"] == f"{cup}/games/1"
    assert (game["variant"], game["first"], game["second"]) == ("tictactoe", "pascal", "random")
    assert game["result"] in ("1-0", "1/2-1/2", "0-1")
    assert game["termination"] in ("line", "board_full")
    assert game["seed"].isdigit()
    assert len(game["moves"]) == len(game["times_us"]) >= 5
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT[\d:.]+Z", game["end_time"])
    assert game["agreement"] is None


@pytest.mark.parametrize("request_as", [{"Accept": "text/csv"}, "format=csv"])
def test_lists_come_as_csv_by_content_type_or_parameter(site: Site, cup: str, request_as: Any) -> None:
    by_header = isinstance(request_as, dict)
    answer = site.get(f"{PREFIX}/{cup}{'' if by_header else f'?{request_as}'}", **(request_as if by_header else {}))
    assert answer.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {row["label"] for row in rows} == {"pascal", "random"}
    assert sum(int(row["wins"]) + int(row["draws"]) + int(row["losses"]) for row in rows) == 16


def test_nested_fields_of_csv_have_long_names_and_lists_are_joined(site: Site) -> None:
    rows = csv.DictReader(io.StringIO(site.get(f"{PREFIX}/bots/pascal/ratings?format=csv").text))
    assert {"rating_list", "row_rating", "row_bot"} <= set(next(rows))


def test_cells_of_csv_are_never_formulas() -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=x", "plain", "a=b"]
    rows = csv.DictReader(io.StringIO(csv_text([{"name": name, "number": -3, "list": [name]} for name in names])))
    for name, row in zip(names, rows, strict=True):
        cell = name if name[0] in "pa" else f"'{name}".replace("\t", " ")
        assert (row["name"], row["number"], row["list"]) == (cell, "-3", cell)


def test_comments_of_bots_are_never_formulas_of_csv() -> None:
    [row] = csv.reader(csv_text([{"comments": {0: "=1+1", 1: "a\x1b[31m"}}], head=False).splitlines())
    assert row == ["'=1+1 a\ufffd[31m"]


def test_scores_by_ply_are_one_column_of_csv() -> None:
    games: list[dict[str, Any]] = [
        {"name": "a", "scores": {}, "seed": "7"},
        {"name": "b", "scores": {3: -2.5, 1: 0.5}, "seed": "8"},
    ]
    assert csv_text(games) == "name,scores,seed\r\na,,7\r\nb, 0.5  -2.5,8\r\n"


def test_each_page_links_to_the_next_one(site: Site, cup: str) -> None:
    path, names = f"{PREFIX}/{cup}/games?page_size=3", []
    while path:
        answer = site.get(path)
        names += [game["name"] for game in answer.document["games"]]
        link = re.fullmatch(r'<(.+)>; rel="next"', answer.headers.get("link", ""))
        path = link[1] if link else ""
    assert names == [f"{cup}/games/{number}" for number in range(1, 9)]


def test_content_that_the_browser_has_cached_is_not_sent_again(site: Site, cup: str) -> None:
    first = site.get(f"{PREFIX}/{cup}/games/1")
    again = site.get(f"{PREFIX}/{cup}/games/1", If_None_Match=f'"else", {first.headers["etag"]}')
    assert (again.status, again.body) == (304, b"")
    other = site.get(f"{PREFIX}/{cup}/games/2", If_None_Match=first.headers["etag"])
    assert other.status == 200


@pytest.mark.parametrize(
    "path, status, words",
    [
        ("/tournaments/none", 404, "tournaments/none"),
        ("/nothing", 404, "There is no such page."),
        ("/tournaments?page_size=many", 400, "parameter page_size: got 'many', expected a whole number"),
        ("/tournaments?page_size=99999999999999999999999", 400, "expected a whole number"),
        ("/tournaments?challenges=perhaps", 400, "parameter challenges: got 'perhaps', expected true or false"),
        ("/tournaments?colour=red", 400, "parameter 'colour': unknown"),
        ("/tournaments?format=xml", 400, "parameter format: got 'xml', expected json or csv"),
        ("/tournaments?page_token=%00", 400, "page_token"),
        ("/leaderboards/chess/untimed", 400, "chess"),
        ("/bots/" + quote("a/b", safe=""), 404, ""),
        ("/tournaments/none/games/1/events", 404, "tournaments/none"),
        ("/tournaments/none/games/" + "9" * 5_000, 404, "There is no such page."),
        ("/featured/events?all=1", 400, "parameter 'all': unknown"),
    ],
)
def test_errors_have_a_status_and_a_message(site: Site, path: str, status: int, words: str) -> None:
    answer = site.get(PREFIX + path)
    error = answer.document["error"]
    assert (answer.status, error["status"]) == (status, status), error
    assert words in error["message"]


def test_the_api_only_reads(site: Site) -> None:
    answer = site.get(f"{PREFIX}/tournaments", method="POST")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    head_answer = site.get(f"{PREFIX}/tournaments", method="HEAD")
    assert (head_answer.status, head_answer.body) == (200, b"")


def test_games_are_filtered_by_names_of_results_and_terminations(site: Site, cup: str) -> None:
    address = f"{PREFIX}/{cup}/games?page_size=1000"
    selected = site.get(f"{address}&result=1-0&termination=line").document["games"]
    all_games = site.get(address).document["games"]
    assert selected == [game for game in all_games if (game["result"], game["termination"]) == ("1-0", "line")]
    refused = site.get(f"{address}&termination=16")
    assert refused.status == 400
    assert "expected line or board_full" in refused.document["error"]["message"]


@pytest.mark.processes
def test_page_of_the_api_lists_its_addresses(site: Site) -> None:
    answer = site.get("/api")
    assert answer.status == 200
    assert "/api/v1/tournaments" in answer.text
