"""Beyond one machine: several servers and referees that share a PostgreSQL and talk over a NATS.

- `nats_bus`, `codecs`: the bus, and what its messages are on the network.
- `membership`: who belongs to the cluster and lives.
- On a server: `remote_referee` (asks of referees become questions to the bots whose streams it holds), `presence` (who
  has logged in where), `remote_observer` (games that are watched here and played elsewhere), `control` (its director).
- At a referee: `remote_bots` (bots whose streams servers hold), `supply` (units are claimed in the database),
  `subscriptions` (the games that are watched), `referee` (its composition root).
"""
