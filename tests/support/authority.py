"""A throw-away certificate authority."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from noughts_proto.security import Identity


class Authority:
    """Signs certificates, and writes them and their keys to a folder."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.certificate = folder / f"{name}.pem"
        self._folder = folder
        self._authority = trustme.CA(organization_name=name)
        self._authority.cert_pem.write_to_path(self.certificate)

    def identity(self, name: str, *, names: tuple[str, ...] = ("127.0.0.1", "localhost"), days: int = 2) -> Identity:
        """Return a new certificate for these hosts with its key; `days` before its end, which is past if negative."""
        now = datetime.now(UTC)
        issued = self._authority.issue_cert(
            *names, not_before=now - timedelta(days=7), not_after=now + timedelta(days=days)
        )
        key, certificate = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        issued.private_key_pem.write_to_path(key)
        issued.cert_chain_pems[0].write_to_path(certificate)
        return Identity(certificate, key)
