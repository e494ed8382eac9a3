"""A cluster: several servers and referees that share a PostgreSQL database and communicate over NATS.

- `nats_bus`, `codecs`: the bus, and the format of its messages on the network.
- `heartbeats`: the nodes of the cluster that are alive.
- On a server: `remote_referee` (forwards questions of referees to the bots whose streams this server holds), `presence`
  (the server on which each bot has logged in), `remote_observer` (games that are watched here and played elsewhere),
  `standstill` (the reasons why play has stopped, in its log), `control` (its director).
- On a referee: `remote_bots` (bots whose streams servers hold), `supply` (units that it claims in the database).
  `noughts_server.referee_node` has the games that are watched, and the composition root.
"""
