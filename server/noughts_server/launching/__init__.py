"""Start the processes of a player, in the sandbox or without it, and connect them to a stream."""
