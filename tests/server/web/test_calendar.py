"""The starts of tournaments as an iCalendar file, read by an independent parser."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import grpc
from google.protobuf.timestamp_pb2 import Timestamp
from icalendar import Calendar
from starlette.requests import Request

from noughts_proto.v1 import tournaments_pb2 as pb
from noughts_server.client.stubs import Stubs
from noughts_server.testing import ServerUnderTest
from noughts_server.web.calendar_file import calendar_file
from noughts_server.web.views import Views
from tests.server.web.test_delivery import Links
from tests.support.site import Site

TITLE = "Frühling; größer, schöner \\ und später: " + "♟🏆" * 20


def tournament_document(number: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a tournament as the API returns it."""
    return {
        "name": f"tournaments/spring-{number}",
        "title": "Spring cup",
        "state": "open",
        "variant": "gomoku",
        "schedule": "swiss",
        "time": {"bank_us": 60_000_000, "increment_us": 0, "move_us": 0},
        "seed_hash": f"{number:064x}",
        "create_time": "2026-11-25T20:00:00.125Z",
        "start_time": None,
        "end_time": None,
        "start_at": "2026-12-01T18:30:00Z",
        **changes,
    }


def calendar_of(tournament: dict[str, Any], base: str = "https://games.example") -> bytes:
    """The calendar of a tournament, on the website at this address."""
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": []}
    views = Views("0", signing_in=False, playing=False, public_url=base)
    text = views.text(Request(scope), "feeds/calendar.ics.jinja", title="Starts", tournaments=[tournament])
    return calendar_file(asyncio.run(text))


def parse_calendar(file: bytes) -> Calendar:
    """Parse the calendar, which must have no errors."""
    calendar = Calendar.from_ical(file)
    assert isinstance(calendar, Calendar)
    assert not calendar.errors
    assert all(not event.errors for event in calendar.walk())
    return calendar


def events(file: bytes) -> list[Any]:
    """The events of the calendar."""
    return list(parse_calendar(file).events)


def test_a_scheduled_start_is_an_event_with_a_stable_id() -> None:
    (event,) = events(calendar_of(tournament_document()))
    assert event["DTSTART"].dt == datetime(2026, 12, 1, 18, 30, tzinfo=UTC)
    assert event["DTSTAMP"].dt == datetime(2026, 11, 25, 20, tzinfo=UTC)
    assert "DTEND" not in event
    assert "DURATION" not in event
    assert event["SUMMARY"] == "Spring cup"
    assert event["DESCRIPTION"] == "Gomoku, swiss, 1\u00a0min"
    assert event["URL"] == "https://games.example/tournaments/spring-1"
    later = tournament_document(state="cancelled", title="Renamed", end_time="2026-11-26T20:00:00Z")
    (again,) = events(calendar_of(later, "http://127.0.0.1:7480"))
    assert again["UID"] == event["UID"]
    assert (again["STATUS"], again["DTSTAMP"].dt) == ("CANCELLED", datetime(2026, 11, 26, 20, tzinfo=UTC))
    (other,) = events(calendar_of(tournament_document(2)))
    assert other["UID"] != event["UID"]


def test_long_titles_are_folded_and_escaped() -> None:
    title = f"{TITLE}\r\nBEGIN:VEVENT\x00"
    file = calendar_of(tournament_document(title=title))
    lines = file.split(b"\r\n")
    assert lines[-1] == b""
    assert max(map(len, lines)) == 75
    assert not any(b"\r" in line or b"\n" in line for line in lines)
    assert all(line.decode() for line in lines[:-1])  # no character is cut
    (event,) = events(file)
    assert event["SUMMARY"] == f"{TITLE} \nBEGIN:VEVENT "


def test_a_calendar_without_starts_is_valid() -> None:
    calendar = parse_calendar(calendar_of(tournament_document(start_at=None)))
    assert calendar.events == []
    assert calendar.subcomponents
    assert {"VERSION", "PRODID"} <= calendar.keys()


def test_calendars_of_the_website_link_to_its_pages(server: ServerUnderTest, site: Site) -> None:
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    tournament = pb.Tournament(name="tournaments/soon", title=TITLE, start_at=Timestamp(seconds=int(soon.timestamp())))
    with grpc.insecure_channel(server.address) as channel:
        metadata = (("authorization", f"Bearer {server.token('kim')}"),)
        Stubs(channel).tournaments.CreateTournament(
            pb.CreateTournamentRequest(tournament=tournament), metadata=metadata
        )
    answer = site.get("/tournaments.ics")
    assert answer.headers["content-type"] == "text/calendar; charset=utf-8"
    (event,) = events(answer.body)
    assert event["SUMMARY"] == TITLE
    assert event["DTSTART"].dt == soon
    page = site.get(event["URL"].removeprefix(site.address))
    assert "/tournaments/soon.ics" in Links(page.text).pages
    (single_event,) = events(site.get("/tournaments/soon.ics").body)
    assert single_event["UID"] == event["UID"]
    subscribe = f"webcal:{site.address.partition(':')[2]}/tournaments.ics"
    for path in ("/", "/tournaments"):
        assert {"/tournaments.ics", subscribe} <= Links(site.get(path).text).pages
    tag = answer.headers["etag"]
    assert site.get("/tournaments.ics", if_none_match=tag).status == 304


def test_a_tournament_without_a_scheduled_start_has_no_calendar(site: Site, cup: str) -> None:
    answer = site.get(f"/{cup}.ics")
    assert answer.status == 404
    assert "This tournament has no scheduled start." in answer.text
    assert site.get("/tournaments/none.ics").status == 404
