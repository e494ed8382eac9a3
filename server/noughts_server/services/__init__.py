"""The gRPC services: who is calling, what is asked; the work is done by the store and the director."""
