"""The Atom feed of tournaments."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, tostring

from noughts_server.web.documents import Document
from noughts_server.web.words import short

_NAMESPACE = "http://www.w3.org/2005/Atom"
_EPOCH = "1970-01-01T00:00:00Z"


def tournaments_atom(tournaments: Sequence[Document], base: str) -> bytes:
    """Return the tournaments, newest first, with their states; `base` is the website's address."""
    feed = Element("feed", xmlns=_NAMESPACE)
    _put(feed, "title", "Tournaments")
    _put(feed, "id", f"{base}/tournaments")
    SubElement(feed, "link", rel="self", href=f"{base}/tournaments.atom")
    SubElement(feed, "link", rel="alternate", href=f"{base}/tournaments")
    _put(feed, "updated", max(map(_updated, tournaments), default=_EPOCH))
    _put(SubElement(feed, "author"), "name", "Noughts")
    for tournament in tournaments:
        address = f"{base}/{tournament['name']}"
        entry = SubElement(feed, "entry")
        _put(entry, "title", f"{tournament['title'] or short(tournament['name'])}: {tournament['state']}")
        _put(entry, "id", address)
        SubElement(entry, "link", rel="alternate", href=address)
        _put(entry, "updated", _updated(tournament))
        done, total = tournament["games_done"], tournament["games_total"]
        played = f"{done:,} of {total:,} games played" if total else "not started"
        _put(entry, "summary", f"{tournament['variant']}, {tournament['state']}, {played}.")
    written: bytes = tostring(feed, encoding="utf-8", xml_declaration=True)
    return written


def _put(parent: Element, name: str, text: str) -> None:
    SubElement(parent, name).text = text


def _updated(tournament: Document) -> str:
    found = tournament["end_time"] or tournament["start_time"] or tournament["create_time"] or _EPOCH
    return str(found)
