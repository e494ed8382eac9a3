"""The entry point of `python -P -m noughts_bots.hosts`.

`-P` is needed because otherwise a `random.so` in the working folder would hide Python's module `random`.
"""

import os
import sys

from noughts_bots.hosts import main
from noughts_proto.forking import end_with

end_with(os.getppid())
sys.exit(main(sys.argv[1:]))
