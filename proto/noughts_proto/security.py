"""The security of connections: TLS, and the rules for connections in plaintext.

Both ends use it: bots and the command line connect, the server listens.
"""

import logging
import os
import ssl
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio

from noughts_proto.channels import AsyncChannels, BlockingChannels
from noughts_proto.errors import ExplainedError, as_sentence
from noughts_proto.transport import CLIENT_OPTIONS, addresses_of

logger = logging.getLogger("noughts.tls")

_MOST_FLIGHTS = 4
"""Limit of the messages of each side in a handshake."""

_OWN_HOSTS = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104  # nothing listens here
"""For each host that stands for all addresses of this machine, one of these addresses."""

CA_VARIABLE = "NOUGHTS_TLS_CA"
CERTIFICATE_VARIABLE = "NOUGHTS_TLS_CERT"
KEY_VARIABLE = "NOUGHTS_TLS_KEY"


class SecurityProblem(ExplainedError, ValueError):
    """A connection that cannot or must not be made as requested; `advice` says what to do."""

    def __init__(self, subject: str, got: str, expected: str, advice: str) -> None:
        super().__init__(f"{subject}: got {got}, expected {expected}", as_sentence(advice))
        self.subject = subject
        self.got = got
        self.expected = expected
        self.advice = advice


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate with its key, with which one end of a connection identifies itself."""

    certificate: Path
    """The certificate and the intermediate ones up to the root (PEM)."""
    key: Path
    """The certificate's private key (PEM), not encrypted."""

    def read(self) -> tuple[bytes, bytes]:
        """Return the key and the certificate. Raises SecurityProblem if they cannot be read or do not match."""
        key = _read(self.key)
        certificate = _read(self.certificate)
        try:
            # Without a password here, OpenSSL would ask for one at the terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.certificate, self.key, password="")
        except ssl.SSLError as error:
            mismatch = error.reason == "KEY_VALUES_MISMATCH"
            raise SecurityProblem(
                f"certificate {self.certificate} with key {self.key}",
                "the key of another certificate" if mismatch else (error.reason or "no readable PEM"),
                "a certificate in PEM and its own private key, not encrypted",
                "Look at both: openssl x509 -in CERTIFICATE -noout -pubkey; openssl pkey -in KEY -pubout",
            ) from error
        return key, certificate

    def dialling(self) -> "Dialling":
        """Return how a process of the same machine connects to a server with this certificate, and to no other."""
        return Dialling(ca=self.certificate, name=self._name())

    def _name(self) -> str:
        """Return a host that the certificate names, found by a handshake in memory. Raises SecurityProblem."""
        self.read()
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(self.certificate, self.key)
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname = False
        client.load_verify_locations(self.certificate)
        client.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        to_server = ssl.MemoryBIO()
        to_client = ssl.MemoryBIO()
        client_end = client.wrap_bio(to_client, to_server)
        server_end = server.wrap_bio(to_server, to_client, server_side=True)
        try:
            for _ in range(_MOST_FLIGHTS):
                for end in (client_end, server_end):
                    with suppress(ssl.SSLWantReadError):
                        end.do_handshake()
        except ssl.SSLError as error:
            advice = "Look at it: openssl x509 -in CERTIFICATE -noout -text"
            raise SecurityProblem(
                f"certificate {self.certificate}", error.reason or str(error), "a valid one", advice
            ) from error
        certificate: Any = client_end.getpeercert() or {}
        return next((name.replace("*", "any", 1) for _, name in certificate.get("subjectAltName", ())), "")

    def server_credentials(self, client_authorities: Path | None = None) -> grpc.ServerCredentials:
        """Return a server's credentials; with `client_authorities` (PEM) only clients that they signed can connect.

        The files are read again when they have changed. Raises SecurityProblem.
        """
        files = _WatchedFiles(self, client_authorities)
        newer: Any = files.newer  # its type stub does not say that it can return None
        return grpc.dynamic_ssl_server_credentials(files.read(), newer, client_authorities is not None)


class _WatchedFiles:
    """The files of a server's certificate, which are checked for changes at each connection."""

    def __init__(self, identity: Identity, client_authorities: Path | None) -> None:
        self._identity = identity
        self._client_authorities = client_authorities
        self._last_stamps = self._stamps()

    def read(self) -> grpc.ServerCertificateConfiguration:
        """Read the files. Raises SecurityProblem."""
        clients = None if self._client_authorities is None else read_authorities(self._client_authorities)
        return grpc.ssl_server_certificate_configuration([self._identity.read()], clients)

    def newer(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the new configuration if the files have changed; None to keep the old one. gRPC's threads call it."""
        stamps = self._stamps()
        if stamps == self._last_stamps:
            return None
        self._last_stamps = stamps
        try:
            configuration = self.read()
        except SecurityProblem as problem:
            # Perhaps only one of the two files is new. When the other changes, they are read again.
            logger.warning("the certificate was changed, but cannot be used; the old one is kept: %s", problem)
            return None
        logger.info("the certificate was read again: %s", self._identity.certificate)
        return configuration

    def _stamps(self) -> list[tuple[int, int, int] | None]:
        files = (self._identity.certificate, self._identity.key, self._client_authorities)
        return [None if file is None else _stamp(file) for file in files]


def _stamp(file: Path) -> tuple[int, int, int] | None:
    try:
        state = file.stat()
    except OSError:
        return None
    return state.st_ino, state.st_size, state.st_mtime_ns


@dataclass(frozen=True, slots=True)
class Dialling:
    """The security of a client's connection."""

    tls: bool = False
    ca: Path | None = None
    """A file of certificates (PEM) to trust instead of the system's; implies TLS."""
    identity: Identity | None = None
    """The client's identity, if the server requires one."""
    insecure: bool = False
    """Whether a token can be sent in plaintext to another machine."""
    name: str = ""
    """The host that the server's certificate must name, if not that of the address."""
    group: int = 0
    """Channels of one group share a connection to a server, which has a limit on concurrent calls."""

    @property
    def encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return self.tls or self.ca is not None

    def check(self, addresses: str, token: str) -> None:
        """Raise SecurityProblem if a token would leave this machine in plaintext."""
        for address in addresses_of(addresses):
            if token and not (self.encrypted or self.insecure or is_loopback(host_of(address))):
                raise SecurityProblem(
                    f"server {address}",
                    "a connection in plaintext",
                    "TLS, for the token could be read on the way",
                    "Use TLS (--tls, or --tls-ca FILE for a certificate of your own), an SSH tunnel to a loopback"
                    " address, or accept the risk with --insecure.",
                )

    def channel(self, addresses: str) -> grpc.Channel:
        """Return a channel for blocking calls to the first address that can be reached. Raises SecurityProblem."""
        channels: list[Any] = [self._open(grpc, address) for address in addresses_of(addresses)]
        return channels[0] if len(channels) == 1 else cast(grpc.Channel, BlockingChannels(channels))

    def async_channels(self, addresses: str, *, apart: bool = False) -> AsyncChannels:
        """Return such channels for the running event loop; with `apart`, not shared with other channels.

        Raises SecurityProblem.
        """
        own = (("grpc.use_local_subchannel_pool", int(apart)),)
        return AsyncChannels([self._open(grpc.aio, address, own) for address in addresses_of(addresses)])

    def async_channel(self, address: str) -> grpc.aio.Channel:
        """Return a channel to one address for the running event loop. Raises SecurityProblem."""
        channel: grpc.aio.Channel = self._open(grpc.aio, address)
        return channel

    def _open(self, library: Any, address: str, more: tuple[tuple[str, int | str], ...] = ()) -> Any:
        options = _options(address) + more + ((("grpc.ssl_target_name_override", self.name),) if self.name else ())
        if self.group:
            # gRPC ignores this option, but only channels with equal options share a connection.
            options += (("noughts.group", self.group),)
        if not self.encrypted:
            return library.insecure_channel(address, options=options)
        return library.secure_channel(address, self._credentials(), options=options)

    def _credentials(self) -> grpc.ChannelCredentials:
        authorities = None if self.ca is None else read_authorities(self.ca)
        key, certificate = (None, None) if self.identity is None else self.identity.read()
        return grpc.ssl_channel_credentials(authorities, key, certificate)


def dialling_from_environment(*, tls: bool = False, ca: Path | None = None, insecure: bool = False) -> Dialling:
    """Return these settings, completed by NOUGHTS_TLS_CA, and NOUGHTS_TLS_CERT with NOUGHTS_TLS_KEY (files in PEM).

    Raises SecurityProblem if only one of the last two is set.
    """
    named = (os.environ.get(variable) for variable in (CA_VARIABLE, CERTIFICATE_VARIABLE, KEY_VARIABLE))
    authorities, certificate, key = (Path(name) if name else None for name in named)
    if (certificate is None) != (key is None):
        present, missing = (CERTIFICATE_VARIABLE, KEY_VARIABLE) if certificate else (KEY_VARIABLE, CERTIFICATE_VARIABLE)
        raise SecurityProblem(missing, "nothing", f"a PEM file, because {present} is set", "Set both or neither.")
    identity = Identity(certificate, key) if certificate and key else None
    return Dialling(tls, ca or authorities, identity, insecure)


def _options(address: str) -> tuple[tuple[str, int | str], ...]:
    """Return the options of every client. Connections to this machine do not use a proxy of the environment.

    A proxy could read the token, and cannot reach this machine's loopback.
    """
    return (*CLIENT_OPTIONS, ("grpc.enable_http_proxy", 0)) if is_loopback(host_of(address)) else CLIENT_OPTIONS


def host_of(address: str) -> str:
    """Return the host of HOST:PORT, without the brackets of an IPv6 address."""
    return address.rpartition(":")[0].strip("[]")


def local_address(address: str) -> str:
    """Return the address at which a process of this machine reaches a server that listens at `address`."""
    own_host = _OWN_HOSTS.get(host_of(address))
    return address if own_host is None else f"{own_host}:{address.rpartition(':')[2]}"


def is_loopback(host: str) -> bool:
    """Return whether the host is certainly this machine. Names other than `localhost` can be any machine."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def read_authorities(file: Path) -> bytes:
    """Return the certificates of a PEM file. Raises SecurityProblem."""
    content = _read(file)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(file)
    except ssl.SSLError as error:
        raise SecurityProblem(
            f"certificates {file}",
            error.reason or "no readable PEM",
            "one or more certificates in PEM",
            "Name the file of the authority that signed the server's certificate.",
        ) from error
    return content


def failed_handshake(address: str, details: str) -> SecurityProblem | None:
    """Return the meaning of gRPC's text about a failed connection; None if it is not about TLS.

    A new attempt does not help against these failures.
    """
    for sign, words in _HANDSHAKE_FAILURES.items():
        if sign in details:
            return SecurityProblem(f"server {address}", *words)
    return None


# The first matching text counts. The reasons why a certificate fails come before the general failure.
_HANDSHAKE_FAILURES = {
    "certificate has expired": (
        "a certificate that has expired",
        "a valid one",
        "The server's operator has to renew it. Is the clock of this machine right?",
    ),
    "certificate is not yet valid": (
        "a certificate that is not valid yet",
        "a valid one",
        "Are the clocks of this machine and the server right?",
    ),
    "CERTIFICATE_VERIFY_FAILED": (
        "a certificate that no authority trusted here has signed",
        "one of a trusted authority",
        "Name the file of the authority that signed it with --tls-ca (or NOUGHTS_TLS_CA).",
    ),
    "Hostname Verification Check failed": (
        "a certificate for another host name",
        "one for the name that was called",
        "Call the server by a name that stands in its certificate.",
    ),
    "WRONG_VERSION_NUMBER": (
        "plaintext",
        "TLS",
        "Is the address right? Without --tls and --tls-ca the connection is not encrypted.",
    ),
}


def why_hung_up(details: str) -> str:
    """Return a possible reason why a server closed the connection without an answer; empty if it did not."""
    # A server that speaks TLS closes a connection in plaintext, and one without the client certificate that it needs.
    if "Socket closed" not in details:
        return ""
    return (
        "perhaps the server speaks TLS (--tls or --tls-ca FILE),"
        f" or wants a certificate of yours ({CERTIFICATE_VARIABLE} and {KEY_VARIABLE})"
    )


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise SecurityProblem(
            str(file), error.strerror or str(error), "a readable file in PEM", "Look at its path and its rights."
        ) from error
