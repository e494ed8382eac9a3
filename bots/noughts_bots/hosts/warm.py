"""`main` with everything loaded that its kinds need: for a process that forks children which must be there at once."""

from noughts_bots.hosts import dll as dll
from noughts_bots.hosts import main as main
from noughts_bots.hosts import py as py
