"""A cluster: several servers and referees that share a PostgreSQL database and communicate over NATS.

- `nats_bus`, `codecs`: the bus, and the format of its messages on the network.
- `heartbeats`: the nodes of the cluster that are alive.
- On a server: `remote_referee` (forwards questions of referees to the bots whose streams this server holds), `presence`
  (the server on which each bot has logged in), `remote_observer` (games that are watched here and played elsewhere),
  `control` (its director).
- On a referee: `remote_bots` (bots whose streams servers hold), `supply` (units that it claims in the database),
  `subscriptions` (the games that are watched), `referee` (its composition root).

"""
