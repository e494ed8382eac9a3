"""The home page says how far tournaments are: the round of a knockout or Swiss, and the matches that are over."""

import re
from typing import Any

import pytest

from noughts_proto.v1 import tournaments_pb2
from noughts_server.testing import ServerUnderTest
from noughts_server.web.running_stages import (
    Climber,
    Matches,
    RunningStage,
    climber,
    knockout_round,
    knockout_stage,
    matches_of_round,
    numbered_round,
)
from noughts_server.web.signin import Visitor
from tests.server.web.test_organising import in_other_thread
from tests.support.background import bots_online
from tests.support.processes import eventually
from tests.support.site import Site


def matches(*open_matches: int) -> list[dict[str, Any]]:
    """Return a bracket of 16 entries with this number of open matches in each round."""
    return [
        {"round": number, "winner": "" if match < open_matches[number - 1] else "ann", "decision": ""}
        for number in range(1, 5)
        for match in range(2 ** (4 - number))
    ]


@pytest.mark.parametrize(
    "open_matches, words",
    [
        ((1, 4, 2, 1), "Round 1 of 4"),
        ((0, 2, 2, 1), "Quarterfinals"),
        ((0, 0, 1, 1), "Semifinals"),
        ((0, 0, 0, 1), "Final"),
    ],
)
def test_rounds_of_a_knockout_have_their_names(open_matches: tuple[int, ...], words: str) -> None:
    assert str(knockout_round(matches(*open_matches))) == words
    assert knockout_round(matches(0, 0, 0, 0)) is None


def test_progress_of_a_knockout_counts_matches_of_all_rounds_without_byes() -> None:
    stage = knockout_stage(matches(0, 3, 2, 1))
    assert (str(stage.round), stage.matches) == ("Quarterfinals", Matches(9, 15))
    assert matches_of_round(matches(0, 3, 2, 1)) == Matches(1, 4)
    bye = {"round": 1, "winner": "ann", "decision": "bye"}
    assert knockout_stage([bye, *matches(1, 4, 2, 1)]).matches == Matches(7, 15)
    assert matches_of_round([bye, *matches(1, 4, 2, 1)]) == Matches(7, 8)
    assert knockout_stage(matches(0, 0, 0, 0)) == RunningStage()
    assert matches_of_round(matches(0, 0, 0, 0)) is None


def test_newest_round_counts_and_extended_tournaments_name_no_end() -> None:
    pairings = [{"round": 1}, {"round": 2}]
    assert str(numbered_round(pairings, 5)) == "Round 2 of 5"
    assert str(numbered_round(pairings, 1)) == "Round 2"
    assert numbered_round([], 5) is None


def test_the_climber_is_the_bot_with_games_in_the_ladder_that_rises_most() -> None:
    rows = [
        {"bot": f"bots/{name}", "trend": trend}
        for name, trend in (("ann", 12.0), ("bob", None), ("cy", 40.0), ("dee", -9.0), ("eve", 90.0), ("fay", 20.0))
    ]
    played = ("ann", "bob", "cy", "dee", "fay")
    standings = [tournaments_pb2.Standing(bot_version=f"bots/{name}/versions/1", draws=1) for name in played]
    standings.append(tournaments_pb2.Standing(bot_version="bots/eve/versions/1"))
    assert climber(rows, standings) == Climber("bots/cy", 40.0)


@pytest.mark.processes
@pytest.mark.parametrize(
    "schedule, words",
    [
        ("swiss", "Round 1 of 2"),
        ("knockout", "Semifinals"),
    ],
)
def test_lists_of_live_tournaments_name_the_round(
    server: ServerUnderTest, site: Site, schedule: str, words: str
) -> None:
    token = server.token("lea")
    cookie, form = f"noughts_token={token}", {"csrf": Visitor(token).csrf}
    path = f"/tournaments/staged-{schedule}"
    fields = {**form, "id": f"staged-{schedule}", "schedule": schedule, "games_per_pair": "2"}
    assert site.post("/organise", fields, cookie=cookie).status == 303
    bots = [f"{schedule}-{number}" for number in range(4)]
    with in_other_thread(bots_online(server.address, token, **dict.fromkeys(bots, "random"))):
        pass
    # The bots are offline, so the first round waits.
    for bot in bots:
        assert site.post(f"{path}/join", {**form, "bot": f"bots/{bot}"}, cookie=cookie).status == 303
    assert site.post(f"{path}/start", form, cookie=cookie).status == 303
    eventually(lambda: f">{words}</span>" in re.sub(r"\s*\n\s*", "", site.get("/").text))
    assert f"<b>{words}</b>" in site.get("/tournaments").text
    # A bracket has no leader, so the TV names its round in place of one.
    screen = site.get("/tv").text
    assert (f'data-standings="{path[1:]}"' in screen) == (schedule != "knockout")
    assert ("Noughts and crosses · Semifinals" in screen) == (schedule == "knockout")
    # A knockout has no places before its end, so its round stands next to own bots.
    own = "Semifinals" if schedule == "knockout" else "No result yet"
    home = re.sub(r"\s*\n\s*", "", site.get("/", cookie=cookie).text)
    assert f'{own} · <a href="{path}">' in home
    # The number of games of a round grows, but not that of its matches.
    has_bar_of_matches = 'max="3" value="0" aria-label="Matches played">' in site.get("/").text
    assert has_bar_of_matches == (schedule == "knockout")
    assert site.post(f"{path}/cancel", form, cookie=cookie).status == 303
