"""The live feed: games in progress, sent to spectators.

    Referee -> FeedObserver -> bus -> Feed -> Channel -> Watcher -> gRPC stream

The observer (`observer.py`) watches only the games that a client wants to see. The feed (`feed.py`) has a channel for
each watched resource (`channel.py`; games: `game_channel.py`, tournaments: `tournament_channel.py`). A channel numbers
the events, keeps the last ones, and passes them, serialised once, to its watchers. Both ends compute the
view after a snapshot and increments by the same code (`noughts_proto.feed_view`).
"""
