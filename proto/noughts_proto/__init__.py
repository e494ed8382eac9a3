"""The protocol of Noughts: message types, service stubs, and code that both ends of a connection use."""

import os
from importlib.util import find_spec
from pathlib import Path


def _release_of_grpcio() -> tuple[int, ...]:
    """Return the release, e.g. (1, 80), from the name of the package's metadata folder; (0,) without one.

    Loading `importlib.metadata` instead would take longer than all other imports of `noughts --help`.
    """
    spec = find_spec("grpc")
    if spec is None or spec.origin is None:
        return (0,)
    for folder in Path(spec.origin).parents[1].glob("grpcio-[0-9]*.dist-info"):
        numbers = folder.name.removeprefix("grpcio-").split(".")[:2]
        return tuple(int(number) for number in numbers if number.isdigit())
    return (0,)


# Set these variables before grpc is imported, because its core reads them once. Without the first one, gRPC writes
# errors to stderr that Noughts reports itself.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# gRPC's event engine, the default for Python since 1.80, passes each message through several threads. Without it an
# exchange takes a third less processor time (docs/explanation/benchmarks.md). Later releases can lack the alternative
# and would report an unknown setting, so only these releases get it.
if (1, 80) <= _release_of_grpcio() <= (1, 85):
    os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")
