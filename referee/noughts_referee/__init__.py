"""Play games between bots: rules, arbiter, clocks, connections to players and child players."""
