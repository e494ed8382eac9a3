"""The page with the seasons of a league."""

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.signin import Visitor
from tests.support.site import Site

pytestmark = pytest.mark.processes


def test_tournament_that_repeats_has_a_page_of_its_seasons(server: ServerUnderTest, site: Site) -> None:
    token = server.token("zoe")
    fields = {"id": "thursdays", "title": "Thursdays", "schedule": "round_robin", "repeat": "on"}
    cookie = f"noughts_token={token}"
    created = site.post("/organise", {**fields, "csrf": Visitor(token).csrf}, cookie=cookie)
    path = created.headers["location"]
    assert f'Season 1 of a weekly league. <a href="{path}/seasons">All seasons</a>' in site.get(path).text
    page = site.get(f"{path}/seasons").text
    assert "A new season starts every week with the same bots" in page
    assert f'<a href="{path}">Thursdays</a>' in page
    (season,) = site.get(f"/api/v1{path}/seasons").document["seasons"]
    assert (season["number"], season["state"], season["winner"]) == (1, "open", "")
    assert site.get("/tournaments/nothing/seasons").status == 404
