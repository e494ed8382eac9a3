"""`python -m noughts_bots.hosts`."""

import sys

from noughts_bots.hosts import main
from noughts_bots.process import die_with_parent

die_with_parent()
sys.exit(main(sys.argv[1:]))
