"""The protocol of Noughts: message types, service stubs, and what both ends of a connection share."""

import os
from importlib.util import find_spec
from pathlib import Path


def _release_of_grpcio() -> tuple[int, ...]:
    """Such as (1, 80), from the name of the folder that describes the package; (0,) where there is none.

    `importlib.metadata` would read it, too, but takes longer to load than everything else for `noughts --help`.
    """
    spec = find_spec("grpc")
    if spec is None or spec.origin is None:
        return (0,)
    for described in Path(spec.origin).parents[1].glob("grpcio-[0-9]*.dist-info"):
        numbers = described.name.removeprefix("grpcio-").split(".")[:2]
        return tuple(int(number) for number in numbers if number.isdigit())
    return (0,)


# Before grpc is imported, for its core reads them once.
# It otherwise writes to stderr what our own errors say anyway.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# Its event engine, the default for Python since 1.80, passes each message through several threads; without it an
# exchange takes a third less of the processor (docs/explanation/benchmarks.md). It is to become the only one. A later
# release may not know the setting and would complain, so only these releases get it.
if (1, 80) <= _release_of_grpcio() <= (1, 85):
    os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")
