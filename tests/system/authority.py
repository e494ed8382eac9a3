"""A throw-away certificate authority, made with the openssl command."""

import subprocess
from pathlib import Path

from noughts_proto.security import Identity

_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=30)


class Authority:
    """Signs certificates; lives in a folder of its own."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.certificate = folder / f"{name}.pem"
        self._folder = folder
        self._key = folder / f"{name}.key"
        _openssl("req", "-x509", *_KEY, "-subj", f"/CN={name}", "-keyout", self._key, "-out", self.certificate)

    def identity(self, name: str, *, names: str = "IP:127.0.0.1,DNS:localhost", days: int = 2) -> Identity:
        """A certificate for these subject alternative names, and its key; it has expired if `days` is negative."""
        request, key, certificate = (self._folder / f"{name}.{kind}" for kind in ("csr", "key", "pem"))
        extensions = self._folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        _openssl("req", "-new", *_KEY, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        _openssl(
            "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self._key, "-CAcreateserial",
            "-days", str(days), "-extfile", extensions, "-out", certificate,
        )  # fmt: skip
        return Identity(certificate, key)
