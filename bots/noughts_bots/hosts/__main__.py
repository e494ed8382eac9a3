"""`python -m noughts_bots.hosts`."""

import sys

from noughts_bots.hosts import main

sys.exit(main(sys.argv[1:]))
