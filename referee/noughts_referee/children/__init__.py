"""Players that the referee starts itself: child processes, behind a lock. Nothing here imports grpc."""
