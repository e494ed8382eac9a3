"""The operator's settings of the website that a server starts."""

import json
from dataclasses import asdict, dataclass

from noughts_server.web.analyst import AnalystSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteSettings:
    """Parameters of `running_site`, which describes them."""

    https: bool = False
    insecure: bool = False
    token: str = ""
    proxies: tuple[str, ...] = ()
    public_url: str = ""
    analyst: AnalystSettings | None = None

    def line(self) -> str:
        """Return the settings as a line for the process of the website."""
        return json.dumps(asdict(self))

    @classmethod
    def from_line(cls, line: str) -> "SiteSettings":
        """Return the settings of a line, the inverse of `line`."""
        values = json.loads(line)
        analyst = values.pop("analyst")
        return cls(**values, analyst=analyst and AnalystSettings(**analyst))
