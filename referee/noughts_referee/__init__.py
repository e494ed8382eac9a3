"""Plays games between bots: the rules, the arbiter, clocks, the wires to players, and child players."""
