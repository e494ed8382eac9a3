"""The tournament server: services, store, ratings, tournaments and the command line."""

# Before grpc is loaded: see there.
import noughts_proto as noughts_proto
