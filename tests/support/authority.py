"""A throw-away certificate authority."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme

from noughts_proto.security import Identity


class Authority:
    """Signs certificates; lives in a folder of its own."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self.certificate = folder / f"{name}.pem"
        self._folder = folder
        self._authority = trustme.CA(organization_name=name)
        self._authority.cert_pem.write_to_path(self.certificate)

    def identity(self, name: str, *, names: tuple[str, ...] = ("127.0.0.1", "localhost"), days: int = 2) -> Identity:
        """A certificate for these hosts, and its key; it has expired if `days` is negative."""
        now = datetime.now(UTC)
        signed = self._authority.issue_cert(
            *names, not_before=now - timedelta(days=7), not_after=now + timedelta(days=days)
        )
        key, certificate = self._folder / f"{name}.key", self._folder / f"{name}.pem"
        signed.private_key_pem.write_to_path(key)
        signed.cert_chain_pems[0].write_to_path(certificate)
        return Identity(certificate, key)
