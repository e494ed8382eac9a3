"""The website: pages, a JSON API and live events over HTTP, in a process of its own.

    browser -> app -> pages | api | events -> Upstream -> gRPC

It uses only the public gRPC contract (`upstream.py`), so it can crash, restart and run in several copies without
affecting a game. The API returns the contract's messages (`documents.py`) according to a table of routes
(`api_routes.py`), also for the OpenAPI document. The addresses of pages are in `pages/routes.py`. Each game or
tournament is followed upstream once, however many browsers watch (`event_streams.py`). Pages are templates with small
modules of our own: no build step, nothing from other hosts.
"""
