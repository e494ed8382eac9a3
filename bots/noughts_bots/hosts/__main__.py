"""`python -P -m noughts_bots.hosts`: without -P, a `random.so` in the working folder would hide Python's `random`."""

import sys

from noughts_bots.connection.process import die_with_parent
from noughts_bots.hosts import main

die_with_parent()
sys.exit(main(sys.argv[1:]))
