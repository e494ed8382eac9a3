"""The gRPC services: they check the caller and the request; the store and the director do the work."""
