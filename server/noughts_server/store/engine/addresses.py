"""Addresses of databases for messages and logs, without passwords."""

import re

from sqlalchemy import URL

_PASSWORDS = ("password", "sslpassword")
_CREDENTIALS = re.compile(r"[^/\s]*@")


def shown_address(url: URL) -> str:
    """Return an address without its passwords, which can also be in its parameters."""
    return url.difference_update_query(_PASSWORDS).render_as_string(hide_password=True)


def shown_text(text: str) -> str:
    """Return a text that is not a valid address, without the parts that could be a user name and a password."""
    return _CREDENTIALS.sub("***@", text.partition("?")[0])
