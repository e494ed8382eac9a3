"""The command `noughts join`."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from typer import Argument, Option

from noughts_proto.security import is_loopback
from noughts_proto.v1 import registration_pb2 as pb
from noughts_server.cli import printing
from noughts_server.cli.command import command
from noughts_server.cli.commands.token.tokens import private_file
from noughts_server.cli.errors import Problem, UsageProblem
from noughts_server.cli.options.output import OutputOptions
from noughts_server.cli.options.server import HINTS, AddressOptions
from noughts_server.core.resource_names import short

_INVITATION_PREFIX = "inv_"
_API = "/api/v1/registration"
_MOST_BITS = 28
"""The largest proof of work that takes at most a few minutes."""


@dataclass(frozen=True, slots=True)
class _Registered:
    """A new owner, with the token that is shown once."""

    owner: str
    scopes: tuple[str, ...]
    secret: str
    tournament: str


@command(
    example="""
$ noughts join https://noughts.example.org/invite#inv_kS8y... --name ada
ada is registered, with the rights play submit. Keep the token: ...
nou_SOSlLI4wcpcP7_mIuyA3l5-XQhKliT0h
"""
)
def join(
    link: Annotated[
        str | None,
        Argument(metavar="[LINK]", help="Link of an invitation, its code `inv_...`, or the address of an open website"),
    ] = None,
    name: Annotated[
        str, Option("--name", metavar="NAME", show_default=False, help="New name for you and your first bot")
    ] = "",
    file: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            help="New file for the token that only you can read. Default: stdout",
            rich_help_panel="Output",
        ),
    ] = None,
    *,
    server: AddressOptions,
    output: OutputOptions,
) -> None:
    """Register at a server with an invitation, or where registration is open, and get a token.

    A link is all you need: the website of the link registers you. With a code, or without an argument, the command
    calls the server itself (--server). Open registration costs about a second of computing.
    """
    if not name:
        raise UsageProblem("--name: got none, expected the name that you want", "For example: --name ada")
    with ExitStack() as stack:
        token_file = None if file is None else stack.enter_context(private_file(file))
        if link is not None and not link.startswith(_INVITATION_PREFIX):
            registered = _register_at_website(_website(link, insecure=server.insecure), name)
        else:
            registered = _register_at_server(server, name, link or "")
        if token_file is not None:
            token_file.write(f"{registered.secret}\n")
    rights = " ".join(registered.scopes)
    entry = f" Your first bot enters {short(registered.tournament)}." if registered.tournament else ""
    keep = "Keep the token: it is not shown again." if file is None else f"{file} has the token."
    output.hint(f"{registered.owner} is registered, with the rights {rights}.{entry} {keep}")
    document: dict[str, object] = {
        "owner": registered.owner,
        "scopes": list(registered.scopes),
        "tournament": registered.tournament or None,
        **({"token": registered.secret} if file is None else {"file": str(file)}),
    }
    # As text, only the secret goes to stdout, so that a shell script can read it. With --output, nothing does.
    output.show(document, registered.secret if file is None else lambda: None)


def _website(link: str, *, insecure: bool) -> SplitResult:
    """Return the parts of the address. Raises UsageProblem, also if others could read the token in transit."""
    expected = "a link such as https://HOST/invite#inv_..., or a code that begins with inv_"
    try:
        site = urlsplit(link)
        is_right = site.scheme in ("http", "https") and bool(site.hostname) and site.port != 0 and link.isprintable()
    except ValueError:
        is_right = False
    if not is_right or "@" in site.netloc:
        raise UsageProblem(f"LINK: got {link[:200]!r}, expected {expected}")
    if site.scheme == "http" and not is_loopback(site.hostname or "") and not insecure:
        raise UsageProblem(
            f"LINK: got http:// for {site.hostname}, expected https://: others could read your token",
            "Use https://, or --insecure in a network that you trust.",
        )
    return site


def _register_at_website(site: SplitResult, name: str) -> _Registered:
    from noughts_server.client.website import WebsiteCallFailed, call_website

    body: dict[str, Any] = {"name": name}
    try:
        if site.fragment:
            body["invitation"] = site.fragment
        else:
            offer = call_website(site, "GET", _API)
            body["proof"] = _proof(str(offer.get("challenge") or ""), offer.get("bits"))
        answer = call_website(site, "POST", _API, body)
    except WebsiteCallFailed as failure:
        raise Problem(f"not registered: {failure}", failure.hint) from failure
    token = answer["token"]
    return _Registered(token["owner"], tuple(token["scopes"]), answer["secret"], answer["tournament"])


def _register_at_server(server: AddressOptions, name: str, invitation: str) -> _Registered:
    from noughts_server.client import client as clients

    # The invitation is a secret, so it is sent only where a token could be sent.
    dialling = server.dialling(invitation or "the new token")
    request = pb.RegisterRequest(name=name, invitation=invitation)
    with clients.connected(server.address, "", dialling, HINTS) as client:
        if not invitation:
            offer = client.call(client.registration.GetRegistration, pb.GetRegistrationRequest())
            request.proof.MergeFrom(pb.ProofOfWork(**_proof(offer.challenge, offer.bits)))
        answer = client.call(client.registration.Register, request)
    return _Registered(answer.token.owner, tuple(answer.token.scopes), answer.secret, answer.tournament)


def _proof(challenge: str, bits: object) -> dict[str, str]:
    """Return a challenge with its solution, and print a note about the wait.

    Without a challenge, the solution is empty: the server refuses it and says why.
    """
    from noughts_server.core.proof_of_work import solve

    if not challenge or not isinstance(bits, int):
        return {"challenge": "", "solution": ""}
    if bits > _MOST_BITS:
        raise Problem(f"the server asks for {bits} bits of work, more than the limit of {_MOST_BITS}")
    printing.note(f"Working on the proof of work: {bits} bits ...")
    return {"challenge": challenge, "solution": solve(challenge, bits)}
