"""The address of a cluster's bus, and the credentials for it."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from noughts_server.core.errors import BadBusUrl, BusUnusable


@dataclass(frozen=True, slots=True)
class BusSettings:
    """The address of the bus, and the credentials for it."""

    url: str
    """`nats://[USER:PASSWORD@]HOST:PORT`, `tls://` for encryption. Commas separate several addresses."""
    credentials: Path | None = None
    """A file of credentials in the format of `nsc`."""
    authorities: Path | None = None
    """Certificates of the authorities that signed the bus's certificate. None: the authorities of this machine."""
    certificate: Path | None = None
    """This node's own certificate, if the bus requires one."""
    key: Path | None = None
    """The private key of `certificate`. None: the file of the certificate contains it."""

    @property
    def urls(self) -> list[str]:
        """The addresses in `url`. Raises BadBusUrl if one is invalid."""
        urls = [text.strip() for text in self.url.split(",")]
        for text in urls:
            try:
                parts = urlsplit(text)
                is_valid = parts.scheme in ("nats", "tls") and bool(parts.hostname) and parts.port != 0
            except ValueError:
                is_valid = False
            if not is_valid:
                raise BadBusUrl(without_password(text), expected="nats://HOST:PORT, or tls://HOST:PORT")
        return urls

    @property
    def place(self) -> str:
        """Return the addresses without passwords, for messages."""
        return ",".join(map(without_password, self.urls))

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context, or None for plaintext. Raise BusUnusable."""
        if not (self.authorities or self.certificate or any(url.startswith("tls:") for url in self.urls)):
            return None
        try:
            context = ssl.create_default_context(cafile=self.authorities)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except (OSError, ssl.SSLError) as error:
            hint = "They must be PEM files: check the options of the bus."
            raise BusUnusable(self.place, f"its certificates cannot be read ({error})", hint=hint) from error
        return context


def without_password(url: str) -> str:
    """Return the address without its password."""
    scheme, slashes, location = url.rpartition("://")
    return f"{scheme}{slashes}{location.rpartition('@')[2]}"
