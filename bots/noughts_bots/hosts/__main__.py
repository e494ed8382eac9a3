"""The entry point of `python -P -m noughts_bots.hosts`.

`-P` is needed because otherwise a `random.so` in the working folder would hide Python's module `random`.
"""

import sys

from noughts_bots.connection.process import die_with_parent
from noughts_bots.hosts import main

die_with_parent()
sys.exit(main(sys.argv[1:]))
