"""The protocol of Noughts: message types, service stubs, and what both ends of a connection share."""

import os

# Before grpc is imported: its core otherwise writes a line to stderr for each connection that a peer closes.
os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
