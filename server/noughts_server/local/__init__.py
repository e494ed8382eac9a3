"""Tournaments on this machine, their child processes, and bots that play from here at other servers."""
