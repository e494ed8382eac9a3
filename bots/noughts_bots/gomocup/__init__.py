"""The Gomocup protocol, in both directions: engines that play here, and our bots as engines for other managers.

- `protocol`: what both directions need, pure.
- `conversation`: the commands to an engine and the meaning of its lines; `noughts_server.engines` plays with it.
- `engine`: the other direction, a bot that answers a manager's commands.

Source: Gomoku AI protocol (P. Plastovicka), version of 2023-03-20.
"""
