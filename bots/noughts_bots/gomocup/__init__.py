"""The Gomocup protocol in both directions: engines as players, and bots of Noughts as engines for other managers.

- `protocol`: lines, coordinates and rules for both directions, without I/O.
- `conversation`: the commands to an engine and the meaning of its lines; `noughts_server.engines` plays with it.
- `engine`: the other direction, a bot that answers a manager's commands.

Source: Gomoku AI protocol (P. Plastovicka), version of 2023-03-20.
"""
