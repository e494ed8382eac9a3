"""Play over HTTP and JSON: the website's process keeps a stream to the server for each session of a bot.

    bot -> routes -> HttpPlay -> PlaySession -> PlayService.Play

`book.py` knows the games and questions of one bot and does no input or output. `session.py` connects it to the server
and lets requests wait. `sessions.py` opens, finds and ends sessions within their limits. `forms.py` reads requests, and
`routes.py` lists the addresses, also for the OpenAPI document.
"""
