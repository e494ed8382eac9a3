"""`python -P -m noughts_bots.hosts`: without -P, a `random.so` in the working folder would hide Python's `random`."""

import sys

from noughts_bots.hosts import main
from noughts_bots.process import die_with_parent

die_with_parent()
sys.exit(main(sys.argv[1:]))
