"""The live feed: what is being played, told to whoever watches.

    Referee -> FeedObserver -> bus -> Feed -> Channel -> Watcher -> gRPC stream

The observer (`observer.py`) looks at the games that somebody wants to see, and at no others. The feed (`feed.py`) has a
channel for each thing that is watched (`channel.py`; of one game `game_channel.py`, of tournaments
`tournament_channel.py`), which numbers what happens, keeps the last of it, and hands it, serialised once, to its
watchers (`watcher.py`). What a watcher knows after a snapshot and increments is computed by the same code at both ends
(`noughts_proto.feed_view`).
"""
