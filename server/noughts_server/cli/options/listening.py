"""Options of commands that run a server or a website."""

from pathlib import Path
from typing import Annotated

from typer import Option

ListenOption = Annotated[
    str,
    Option("--listen", metavar="HOST:PORT", help="Address for bots and commands; port 0: any free port"),
]
ProxyOption = Annotated[
    list[str] | None,
    Option("--proxy", metavar="ADDRESS", help="Trusted reverse proxy that sets x-real-ip (repeatable)"),
]
HttpsOption = Annotated[bool, Option("--https", help="Allow sign-in behind a reverse proxy that serves HTTPS")]
CertificateOption = Annotated[
    Path | None, Option("--tls-cert", metavar="FILE", help="Certificate of the server (PEM); turns TLS on")
]
KeyOption = Annotated[Path | None, Option("--tls-key", metavar="FILE", help="Private key of --tls-cert (PEM)")]
InsecureServerOption = Annotated[
    bool,
    Option(
        "--insecure",
        help="Allow unencrypted access from other machines: others can read tokens",
        rich_help_panel="Connection",
    ),
]
PythonPackagesOption = Annotated[
    str,
    Option(
        "--python-packages",
        metavar="NAMES",
        help="Packages that submitted Python bots can import, e.g. numpy",
    ),
]
DefaultMarginOption = Annotated[
    str,
    Option(
        "--margin",
        metavar="DURATION",
        help="Time by which a move can exceed its limit, e.g. `50ms`",
        rich_help_panel="Time control",
    ),
]
