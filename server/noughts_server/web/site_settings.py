"""The operator's settings of the website that a server starts."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """Parameters of `running_site`, which describes them."""

    https: bool = False
    insecure: bool = False
    token: str = ""
    proxies: tuple[str, ...] = ()
    public_url: str = ""
