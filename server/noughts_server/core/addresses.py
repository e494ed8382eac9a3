"""Addresses of databases and other services for messages, logs and printed settings, without passwords."""

import re

PASSWORD_PARAMETERS = ("password", "sslpassword")
"""The parameters of a database's address that are passwords."""
_PARAMETER = re.compile(rf"(?<=[?&])({'|'.join(PASSWORD_PARAMETERS)})=[^&]*")
_NEXT_ADDRESS = re.compile(r",(?=\w+://)")


def without_passwords(text: str) -> str:
    """Return addresses, separated by commas, with `***` instead of their passwords. They can be invalid."""
    return ",".join(map(_without_password, _NEXT_ADDRESS.split(text)))


def _without_password(address: str) -> str:
    address = _PARAMETER.sub(r"\1=***", address)
    scheme, separator, _ = address.partition("://")
    begin = scheme + separator if separator else ""
    # A password that is not quoted can contain any character, also `/` and `@`.
    credentials, at, place = address.removeprefix(begin).rpartition("@")
    user, colon, _ = credentials.partition(":")
    if colon:
        return f"{begin}{user}:***@{place}"
    if at and "/" not in credentials:
        return f"{begin}***@{place}"  # it can be a token
    return address
