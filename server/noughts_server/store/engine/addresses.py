"""Names of databases for messages and logs."""

from sqlalchemy import URL

from noughts_server.core.addresses import PASSWORD_PARAMETERS, without_passwords


def shown_address(url: URL) -> str:
    """Return an address without its passwords, which can also be in its parameters."""
    text = url.difference_update_query(PASSWORD_PARAMETERS).render_as_string(hide_password=True)
    # A password with an `@` that is not quoted continues in the host.
    return without_passwords(text) if "@" in (url.host or "") else text
