"""What holds for all tests."""

# Before a test loads grpc: as in our own programs.
import noughts_proto as noughts_proto
