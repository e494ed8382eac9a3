"""Engines that speak the Gomocup protocol, driven over their pipes by the event loop: a seat for each process."""
