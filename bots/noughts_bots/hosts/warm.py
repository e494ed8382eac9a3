"""`main`, for a process that forks children which must be there at once: what they would load is loaded before."""

from noughts_bots.dialogue import software
from noughts_bots.hosts import dll as dll
from noughts_bots.hosts import main as main
from noughts_bots.hosts import py as py
from noughts_referee.rules import OWN_NAMES, parse_variant

software()
for _name in OWN_NAMES:
    parse_variant(_name)
