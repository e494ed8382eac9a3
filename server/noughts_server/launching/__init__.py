"""How the processes of a player are started, behind the lock or without it, and joined to a stream."""
