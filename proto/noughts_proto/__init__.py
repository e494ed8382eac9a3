"""The protocol of Noughts: message types, service stubs, and code that both ends of a connection use."""

import os

from noughts_proto.releases import installed_version


def _release_of_grpcio() -> tuple[int, ...]:
    """Return the release, e.g. (1, 80); () if it is not installed."""
    return tuple(int(number) for number in installed_version("grpcio").split(".")[:2] if number.isdigit())


# Set these variables before grpc is imported, because its core reads them once. Without the first one, gRPC writes
# errors to stderr that Noughts reports itself.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# gRPC's event engine, the default for Python since 1.80, passes each message through several threads. Without it an
# exchange takes a third less processor time (docs/explanation/benchmarks.md). Later releases can lack the alternative
# and would report an unknown setting, so only these releases get it.
if (1, 80) <= _release_of_grpcio() <= (1, 85):
    os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")
