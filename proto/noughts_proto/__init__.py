"""The protocol of Noughts: message types, service stubs, and what both ends of a connection share."""

import os

# Before grpc is imported: its core otherwise writes to stderr what our own errors say anyway.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
