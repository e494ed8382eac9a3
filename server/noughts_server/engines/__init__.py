"""Engines that speak the Gomocup protocol over pipes, in the event loop: a seat for each process."""
