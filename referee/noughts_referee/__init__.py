"""Plays games between bots: rules, arbiter, players and the worker."""
