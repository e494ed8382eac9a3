"""The Gomocup protocol, both ways: engines that play here, and our bots as engines for other managers.

- `protocol`: what both ends need, pure.
- `process`, `conversation`: an engine's process, and what is said to it; `noughts_bots.hosts.gomocup` plays with them.
- `engine`: the other way round, a bot that answers a manager's commands.

Source: Gomoku AI protocol (P. Plastovicka), version of 2023-03-20.
"""
