"""QR codes of addresses."""

from hashlib import sha256

from noughts_server.drawing.qr import qr_code, qr_modules

TEXT = "https://games.example.org/tournaments/" + "spring-cup-2027/" * 20
READ_BY_ZXING = "9207e5d9104c022ee46f8e4cd3f063a13140945e3144ed4f0c986307f0aadf8f"
"""The digest of the codes below. The reader zxing-cpp 3.1 read all of them correctly."""


def test_codes_are_those_that_a_reader_has_read() -> None:
    digest = sha256()
    for length in range(1, 214):
        rows = qr_modules(TEXT[:length])
        assert rows is not None
        digest.update("\n".join("".join(str(int(module)) for module in row) for row in rows).encode())
    assert digest.hexdigest() == READ_BY_ZXING


def test_a_code_is_as_small_as_its_text_allows_and_a_longer_text_has_none() -> None:
    sizes = [len(qr_modules(TEXT[:length]) or ()) for length in (14, 15, 26, 27, 213, 214)]
    assert sizes == [21, 25, 25, 29, 57, 0]
    assert qr_code(TEXT[:214]) == ""
    assert 'viewBox="0 0 29 29"' in qr_code("x")
