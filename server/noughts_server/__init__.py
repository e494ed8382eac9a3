"""The tournament server: services, store, ratings, tournaments and the command line."""
