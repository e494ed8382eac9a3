"""The pages: each module has the handlers of one part of the website.

A handler is a function of the `Website` and the request. `routes.py` lists all addresses with their handlers.
The templates of a module are in `web/templates/`, named like the module or in a folder named like it.
"""
