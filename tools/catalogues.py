"""The catalogues of the website's messages, with all messages of templates, scripts and code.

A language's catalogue is server/noughts_server/web/locales/CODE/LC_MESSAGES/messages.po. Translations of messages that
no longer exist are removed; new messages have empty translations.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_file
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).resolve().parent.parent / "server" / "noughts_server"
LOCALES = ROOT / "web" / "locales"
MARKERS = "noughts_server.core.messages"
"""A Python module that imports it can have messages."""
TEMPLATE_OPTIONS = {
    "extensions": "jinja2.ext.do",
    "silent": "false",
    "trimmed": "true",
    "newstyle_gettext": "true",
    "trim_blocks": "true",
    "lstrip_blocks": "true",
}
"""As in `web/views.py`, which reads the templates."""
WIDTH = 110
TEMPLATE_METHOD = "jinja2.ext:babel_extract"
"""The function that finds the messages of a template; Babel has those of Python and JavaScript."""


def messages() -> Catalog:
    """Return all messages without translations, in the order of the files."""
    found = Catalog(fuzzy=False)
    for path, method, options in sources():
        name = path.relative_to(ROOT).as_posix()
        for line, message, comments, context in extract_from_file(
            method,
            path,
            keywords=DEFAULT_KEYWORDS,
            comment_tags=("Translators:",),
            options=options,
            strip_comment_tags=True,
        ):
            found.add(message, locations=[(name, line)], auto_comments=comments, context=context)
    return found


def sources() -> Iterator[tuple[Path, str, dict[str, str]]]:
    """Yield each file that can have messages, with the method and the options that extract them."""
    for path in sorted((ROOT / "web" / "templates").rglob("*.html.jinja")):
        yield path, TEMPLATE_METHOD, TEMPLATE_OPTIONS
    for path in sorted((ROOT / "web" / "static").glob("*.js")):
        if not path.name.endswith(".min.js"):
            yield path, "javascript", {}
    for path in sorted(ROOT.rglob("*.py")):
        if MARKERS in path.read_text(encoding="utf-8"):
            yield path, "python", {}


def updated_catalogues() -> dict[Path, bytes]:
    """Return what each language's catalogue should hold, by its path."""
    template = messages()
    return {path: _updated(path.read_bytes(), template) for path in sorted(LOCALES.glob("*/LC_MESSAGES/messages.po"))}


def _updated(content: bytes, template: Catalog) -> bytes:
    catalogue = read_po(BytesIO(content), locale=read_po(BytesIO(content)).locale_identifier)
    catalogue.update(template, no_fuzzy_matching=True, update_creation_date=False)
    output = BytesIO()
    write_po(
        output, catalogue, width=WIDTH, omit_header=True, include_lineno=False, ignore_obsolete=True, sort_by_file=True
    )
    # The header stays as it is: Babel's has dates and names of translators.
    return content.partition(b"\n\n")[0] + b"\n\n" + output.getvalue().lstrip()
