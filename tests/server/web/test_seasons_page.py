"""The page with the seasons of a league."""

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.support.site import Answer, Site

pytestmark = pytest.mark.processes


def test_tournament_that_repeats_has_a_page_of_its_seasons(server: ServerUnderTest, site: Site) -> None:
    token = server.token("zoe")
    fields = {"id": "thursdays", "title": "Thursdays", "schedule": "round_robin", "repeat": "weekly"}
    cookie = f"noughts_token={token}"
    created = site.post("/organise", {**fields, "csrf": Visitor(token).csrf}, cookie=cookie)
    path = created.headers["location"]
    assert f'Season 1 of a weekly league. <a href="{path}/seasons">All seasons</a>' in site.get(path).text
    page = site.get(f"{path}/seasons").text
    assert "<h1>Thursdays: seasons</h1>" in page
    assert "A new season starts every week with the same bots" in page
    assert f'<a href="{path}">Thursdays</a>' in page
    (season,) = site.get(f"/api/v1{path}/seasons").document["seasons"]
    assert (season["number"], season["state"], season["winner"]) == (1, "open", "")
    assert site.get("/tournaments/nothing/seasons").status == 404


def test_organiser_stops_a_tournament_from_repeating(server: ServerUnderTest, site: Site) -> None:
    token, other = server.token("zoe"), server.token("yan")
    start = {"id": "fridays", "title": "Fridays", "schedule": "round_robin", "start_at": "2030-03-01T18:00"}
    path = _post(site, token, "/organise", **start, repeat="weekly").headers["location"]
    assert "Stop repeating" in site.get(path, cookie=f"noughts_token={token}").text
    assert "Stop repeating" not in site.get(path, cookie=f"noughts_token={other}").text
    assert _post(site, other, f"{path}/stop-repeating").status == 403
    assert _post(site, token, f"{path}/stop-repeating").headers["location"] == path
    page = site.get(path, cookie=f"noughts_token={token}").text
    assert "its league was stopped" in page
    assert "Stop repeating" not in page


def test_only_a_tournament_that_ends_repeats(server: ServerUnderTest, site: Site) -> None:
    token = server.token("zoe")
    fields = {"id": "endless", "title": "Endless", "bank": "", "increment": ""}
    refused = _post(site, token, "/organise", **fields, schedule="ladder", repeat="weekly")
    assert refused.status == 400
    assert "Expected a format that ends" in refused.text.partition('id="wrong-repeat"')[2].partition("</span>")[0]
    refused = _post(site, token, "/organise", **fields, schedule="swiss", repeat="daily")
    assert "Expected nothing or one of weekly." in refused.text


def _post(site: Site, token: str, path: str, **fields: str) -> Answer:
    return site.post(path, {"csrf": Visitor(token).csrf, **fields}, cookie=f"noughts_token={token}")
