"""The protocol of Noughts: message types, service stubs, and what both ends of a connection share."""

import os
from importlib.metadata import version

# Before grpc is imported, for its core reads them once.
# It otherwise writes to stderr what our own errors say anyway.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
# Its event engine, the default for Python since 1.80, passes each message through several threads; without it an
# exchange takes a third less of the processor (docs/benchmarks.md). It is to become the only one: what a later release
# may not know any more is not mentioned to it, because it would complain.
if (1, 80) <= tuple(map(int, version("grpcio").split(".")[:2])) <= (1, 85):
    os.environ.setdefault("GRPC_EXPERIMENTS", "-event_engine_client,-event_engine_listener")
