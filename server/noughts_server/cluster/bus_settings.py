"""Where the bus of a cluster is, and how to get in."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from noughts_server.core.errors import BadBusUrl, BusUnusable


@dataclass(frozen=True, slots=True)
class BusSettings:
    """Where the bus is, and how to get in."""

    url: str
    """`nats://[USER:PASSWORD@]HOST:PORT`, `tls://` for encryption; several with commas between them."""
    credentials: Path | None = None
    """A file of credentials, as `nsc` makes them."""
    authorities: Path | None = None
    """Certificates of those who vouch for the bus; None: those that the machine knows."""
    certificate: Path | None = None
    """This node's own certificate, where the bus wants one."""
    key: Path | None = None

    @property
    def urls(self) -> list[str]:
        """Each address. Raises BadBusUrl."""
        urls = [text.strip() for text in self.url.split(",")]
        for text in urls:
            try:
                parts = urlsplit(text)
                good = parts.scheme in ("nats", "tls") and bool(parts.hostname) and parts.port != 0
            except ValueError:
                good = False
            if not good:
                raise BadBusUrl(without_password(text), expected="nats://HOST:PORT, or tls://HOST:PORT")
        return urls

    @property
    def place(self) -> str:
        """What it is called in messages: its addresses, without passwords."""
        return ",".join(map(without_password, self.urls))

    def context(self) -> ssl.SSLContext | None:
        """How it is encrypted; None: not at all. Raises BusUnusable."""
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
    """The address as it may be shown."""
    scheme, slashes, rest = url.rpartition("://")
    return f"{scheme}{slashes}{rest.rpartition('@')[2]}"
