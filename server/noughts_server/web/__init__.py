"""The site: pages, a JSON API and live events over HTTP, as a process of its own.

    browser -> app -> pages | api | events -> Upstream -> gRPC

It is a client of the public contract and of nothing else (`upstream.py`), so it can crash, restart and run in several
copies without touching a game. What the API answers are the contract's messages (`documents.py`) by a table of routes
(`routes.py`), from which the OpenAPI document is made as well. However many watch, each game or tournament is followed
upstream once (`live.py`). Pages are templates of ours with small modules of ours: no build step, nothing from other
hosts.
"""
