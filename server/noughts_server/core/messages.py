"""Texts for people that the website shows in the language of the visitor. Everything else shows them in English.

The English text stands where it is shown, as the argument of `_`, `ngettext` or `N_`, and is the key of the catalogues
of other languages. `tools/regenerate.py` collects these texts.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from gettext import NullTranslations


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A language of texts, with the signs in its numbers."""

    code: str
    """The name of its catalogue, e.g. `cs`."""
    tag: str
    """The language of a page by RFC 5646, e.g. `zh-Hans`."""
    name: str
    """Its name in the language itself."""
    thousands: str = ","
    decimal: str = "."
    translations: NullTranslations = field(default_factory=NullTranslations, repr=False)


ENGLISH = Language(code="en", tag="en", name="English")
_ACTIVE: ContextVar[Language] = ContextVar("language", default=ENGLISH)


def active_language() -> Language:
    """Return the language of the page that is rendered; English outside of pages."""
    return _ACTIVE.get()


@contextmanager
def in_language(language: Language) -> Iterator[None]:
    """Translate the texts of this block."""
    token = _ACTIVE.set(language)
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def _(message: str, /, **values: object) -> str:
    """Return a text in the active language; `%(name)s` in it stands for a value."""
    text = _ACTIVE.get().translations.gettext(message)
    return text % values if values or "%" in text else text


def ngettext(one: str, many: str, number: int, /, **values: object) -> str:
    """Return the form of a text that fits the number, which `%(num)s` stands for."""
    translation = _ACTIVE.get().translations.ngettext(one, many, number)
    return translation % {"num": number_text(number), **values}


def pgettext(context: str, message: str, /, **values: object) -> str:
    """Return a text as `_`. The context distinguishes it from an equal text with another translation."""
    return _ACTIVE.get().translations.pgettext(context, message) % values


def N_(message: str) -> str:  # noqa: N802  # the name that collectors of messages know
    """Mark a text for the catalogues; `_` translates it later."""
    return message


def number_text(value: float, form: str = ",.0f") -> str:
    """Return a number with the signs of the active language, e.g. `12,000` in English."""
    text, language = format(value, form), _ACTIVE.get()
    if language is ENGLISH:
        return text
    return text.translate({ord(","): language.thousands, ord("."): language.decimal})
