"""How the website delivers its pages: links, sizes, caches, policies, addresses and feeds."""

import gzip
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from noughts_server.testing import ServerUnderTest
from noughts_server.web.app import static_files
from tests.support.site import Site, site_of

ATOM = "{http://www.w3.org/2005/Atom}"

HEAVIEST = 60_000
"""The limit for a page with all style sheets, scripts and icons that it loads, in compressed bytes."""


class Links(HTMLParser):
    """The links and resources of a page, and inline scripts and styles, which its policy forbids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.pages: set[str] = set()
        self.loaded: set[str] = set()
        self.inline: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        if tag == "a":
            self.pages.add(values["href"] or "")
        if tag in ("script", "img") and values.get("src"):
            self.loaded.add(values["src"] or "")
        if tag == "link" and values["rel"] in ("stylesheet", "icon"):
            self.loaded.add(values["href"] or "")
        if tag == "style" or "style" in values or any(name.startswith("on") for name in values):
            self.inline.append(f"{tag} {attributes}")
        if tag == "script" and not values.get("src") and values.get("type") != "application/json":
            self.inline.append("script")
        if tag not in ("meta", "link", "img", "input", "br", "wbr", "path", "rect", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("path", "rect", "circle"):
            assert self.open.pop() == tag, f"</{tag}> closes another"


@pytest.fixture(scope="module")
def pages(site: Site) -> dict[str, Links]:
    """All pages that links lead to from the start page: of games and of openings only one, and no documentation."""
    links_by_path: dict[str, Links] = {}
    waiting = ["/"]
    kinds: set[str] = set()
    while waiting:
        path = waiting.pop()
        kind = re.sub(r"games/\d+", "games/N", path.partition("?")[0])
        if path in links_by_path or (kind in kinds and ("games/N" in kind or kind in ("/explorer", "/puzzles"))):
            continue
        kinds.add(kind)
        answer = site.get(path)
        if answer.status == 303:  # pages of one's own lead to sign-in
            links_by_path[path] = Links("")
            waiting.append(answer.headers["location"])
            continue
        assert answer.status == 200, (path, answer.text)
        if answer.headers["content-type"].startswith("text/html"):
            links_by_path[path] = Links(answer.text)
            waiting += [link.partition("#")[0] for link in links_by_path[path].pages if re.match("/(?!docs/)", link)]
        else:
            links_by_path[path] = Links("")
    return links_by_path


@pytest.mark.processes  # it fetches pictures that a process draws
def test_every_link_leads_to_a_page_and_no_page_breaks_its_policy(pages: dict[str, Links]) -> None:
    assert {"/", "/tournaments", "/leaderboard", "/bots", "/bots/pascal", "/tournaments.atom"} <= set(pages)
    assert any(path.endswith("/embed") for path in pages)
    assert any("/against/" in path for path in pages)
    assert any(path.startswith("/explorer") for path in pages)
    for path, links in pages.items():
        assert links.inline == [], path
        assert links.open == [], path
        assert all(link.startswith(("/", "#", "?", "webcal:")) for link in links.pages | links.loaded), path


@pytest.mark.processes
def test_pages_describe_themselves_to_search_engines_and_previews(site: Site, cup: str) -> None:
    descriptions = set()
    for path in ("/", f"/{cup}", f"/{cup}/games", f"/{cup}/games/1", "/bots/pascal", "/leaderboard", "/play"):
        tags = dict(re.findall(r'<meta (?:name|property)="([^"]+)" content="([^"]+)">', site.get(path).text))
        assert tags["og:url"] == site.address + path
        assert tags["og:description"] == tags["description"]
        assert tags["og:title"]
        assert site.get(tags["og:image"].removeprefix(site.address)).headers["content-type"] == "image/png"
        descriptions.add(tags["description"])
    assert len(descriptions) == 7
    game = site.get(f"/api/v1/{cup}/games/1").document["game"]
    text = site.get(f"/{cup}/games/1").text
    assert f"{game['first']} against {game['second']}, Noughts and crosses: {game['result']}, " in text


def test_answers_are_compressed_and_events_are_not(site: Site, cup: str) -> None:
    for path in ("/", f"/{cup}", f"/{cup}/parts", f"/{cup}/games.jsonl", f"/api/v1/{cup}"):
        plain, packed = site.get(path), site.get(path, accept_encoding="gzip")
        assert packed.headers["content-encoding"] == "gzip", path
        assert "content-encoding" not in plain.headers
        assert len(packed.body) < len(plain.body)
        assert gzip.decompress(packed.body)
    with site.events("/api/v1/featured/events", accept_encoding="gzip") as events:
        assert events.until("snapshot")


def test_an_unchanged_page_is_not_sent_again(site: Site, cup: str) -> None:
    for path in (f"/{cup}", f"/{cup}/games/1", "/bots"):
        tag = site.get(path).headers["etag"]
        cached_answer = site.get(path, if_none_match=tag, accept_encoding="gzip")
        assert (cached_answer.status, cached_answer.body, cached_answer.headers["etag"]) == (304, b"", tag)
        assert site.get(path, if_none_match='W/"else"').status == 200


def test_only_parts_of_a_tournament_that_changed_are_sent(site: Site, cup: str) -> None:
    names_and_tags = re.findall(r'<div data-part="(\w+)" data-tag="(\w+)">', site.get(f"/{cup}").text)
    tags = {name: f'"{tag}"' for name, tag in names_and_tags}
    assert {"facts", "standings", "crosstable", "faults"} <= set(tags)
    everything = site.get(f"/{cup}/parts")
    assert re.findall(r'<div data-part="(\w+)" data-tag="(\w+)">', everything.text) == names_and_tags
    assert site.get(f"/{cup}/parts", if_none_match=", ".join(tags.values())).status == 304
    del tags["standings"]
    changed_parts = site.get(f"/{cup}/parts", if_none_match=", ".join(tags.values()))
    assert re.findall(r'data-part="(\w+)"', changed_parts.text) == ["standings"]


def test_programs_find_the_icon_and_the_rules_for_robots(site: Site) -> None:
    icon, rules = site.get("/favicon.ico"), site.get("/robots.txt")
    assert (icon.status, icon.body[:4]) == (200, b"\0\0\1\0")
    assert rules.headers["content-type"].startswith("text/plain")
    assert "Disallow: /api/" in rules.text.splitlines()
    assert "max-age=86400" in icon.headers["cache-control"]


def files_of(links: Links, contents: dict[str, bytes]) -> set[str]:
    """Return the names of the static files that a page loads, with those that its scripts import."""
    waiting = [name for path in links.loaded if (name := path.rpartition("/")[2]) in contents]
    names: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in names:
            names.add(name)
            if name.endswith(".js"):
                waiting += re.findall(r'from "\./([\w.]+)"', contents[name].decode())
    return names


@pytest.mark.processes
def test_every_page_with_all_that_it_loads_is_small(site: Site, pages: dict[str, Links]) -> None:
    contents = {name: body for name, (_, body) in static_files()[1].items()}
    sizes = {name: len(gzip.compress(body)) for name, body in contents.items()}
    own = [path for path in pages if "/api/" not in path and ".png" not in path]
    weights = {
        path: len(site.get(path, accept_encoding="gzip").body)
        + sum(sizes[name] for name in files_of(pages[path], contents))
        for path in own
    }
    assert "game.js" in files_of(pages[next(path for path in own if "/games/" in path)], contents)
    heaviest = max(weights, key=weights.__getitem__)
    assert weights[heaviest] < HEAVIEST, (heaviest, weights[heaviest])


def test_static_files_are_cached_for_a_year_by_content(site: Site) -> None:
    version, files = static_files()
    for name, (kind, body) in files.items():
        answer = site.get(f"/static/{version}/{name}")
        assert (answer.status, answer.body) == (200, body)
        assert answer.headers["content-type"].startswith(kind)
        assert "immutable" in answer.headers["cache-control"]
    assert site.get("/static/0/site.css").status == 404
    assert site.get(f"/static/{version}/..%2fapp.py").status == 404


def test_policy_forbids_resources_of_other_sites(site: Site, cup: str) -> None:
    headers = site.get("/").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors *" in site.get(f"/{cup}/games/1/embed").headers["content-security-policy"]
    for path in ("/bots/embed", f"/{cup}/games/999/embed", "/play/embed"):
        assert "frame-ancestors 'self'" in site.get(path).headers["content-security-policy"], path


def test_addresses_of_the_website_are_those_of_its_public_url(server: ServerUnderTest) -> None:
    with site_of(server.address, public_url="https://games.example") as site:
        text = site.get("/tournaments.atom", Host="evil.example").text
    assert 'href="https://games.example/tournaments.atom"' in text
    assert "evil.example" not in text


def test_the_feed_of_tournaments_is_atom(site: Site, cup: str) -> None:
    answer = site.get("/tournaments.atom")
    assert answer.headers["content-type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(answer.body)
    for name in ("id", "title", "updated", "author"):
        assert feed.find(ATOM + name) is not None
    links = {entry.find(f"{ATOM}link").get("href") for entry in feed.iter(f"{ATOM}entry")}  # type: ignore[union-attr]
    assert f"{site.address}/{cup}" in links
    for entry in feed.iter(f"{ATOM}entry"):
        assert {child.tag for child in entry} == {ATOM + name for name in ("id", "title", "link", "updated", "summary")}
