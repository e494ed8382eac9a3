"""No message repeats a password from the address of a database."""

import pytest

from noughts_server.core.errors import BadDatabaseUrl
from noughts_server.store.engine import postgresql, sqlite

PASSWORD = "very-secret"


def test_name_of_a_database_has_no_password() -> None:
    url = f"postgresql://me:{PASSWORD}@host/x?password={PASSWORD}&sslpassword={PASSWORD}&connect_timeout=3"
    name = postgresql.place(postgresql.parse_url(url))
    assert name == "postgresql+psycopg://me:***@host/x?connect_timeout=3"


def test_a_password_with_an_unquoted_at_sign_is_not_in_the_name() -> None:
    url = postgresql.parse_url(f"postgresql://me:begin@{PASSWORD}@host/x")
    assert postgresql.place(url) == "postgresql+psycopg://me:***@host/x"


@pytest.mark.parametrize("parse", [postgresql.parse_url, sqlite.parse_url])
@pytest.mark.parametrize(
    "url",
    [
        "mysql://me:{}@host/x?password={}",
        "mysql:me:{}@host/x?password={}",
        "x//me:{}@host",
        "x://me:{}@host:y/x",
        "x://me:{}/b@host:y/x",
        "x://me:{}?b@host:y/x",
    ],
)
def test_errors_about_a_wrong_address_have_no_password(parse: object, url: str) -> None:
    assert callable(parse)
    with pytest.raises(BadDatabaseUrl) as refused:
        parse(url.replace("{}", PASSWORD))
    assert PASSWORD not in str(refused.value)
