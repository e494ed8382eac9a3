"""The page that tells students how to take part in a course."""

from noughts_proto.security import host_of, is_loopback
from noughts_server.leagues.course import Course
from noughts_server.limits import Limits


def instructions(course: Course) -> str:
    """Return the page in Markdown."""
    # Beyond one machine a token travels encrypted.
    tls = "" if is_loopback(host_of(course.server)) else " --tls"
    until = f" Bots are taken until {course.closes[:16].replace('T', ' ')}." if course.closes else ""
    python = (
        "Write it in a file `bot.py`:\n\n```python\nfrom noughts_bots import Bot\n\n\nclass Mine(Bot):\n"
        f'    variants = ("{course.variant}",)\n\n    def choose(self, position):\n'
        "        return position.rng().choice(position.free)\n```\n\n"
        "It can import the standard library only. Install Noughts from its source code, then try the bot:\n\n"
        "```\npip install '.[server]'   # in the folder of the source code\n"
        f"noughts bot check py:./bot.py:Mine --variant {course.variant}\n"
        f"noughts estimate py:./bot.py:Mine --variants {course.variant}\n```\n\n"
    )
    wasm = (
        "In C, Zig or Rust: `noughts bot new mybot --language c` writes a project; `make wasm` builds the file "
        "that you submit.\n\n"
    )
    return (
        f"# {course.name}\n\n"
        f"You write a bot that plays {course.variant}. Each night at {course.nightly} all bots meet in a round robin, "
        f"{course.games_per_pair} games of each pair, with the clock `{course.time}`.{until}\n\n"
        "## Write it\n\n"
        f"{python if 'py' in course.accept else ''}{wasm if 'wasm' in course.accept else ''}"
        "## Submit it\n\n"
        f"Open {course.address}/me, sign in with your token, and choose the file. Or from the command line:\n\n"
        "```\nexport NOUGHTS_TOKEN=...   # yours\n"
        f"noughts bot submit bot.py --name LOGIN-bot --server {course.server}{tls}\n```\n\n"
        "The server tries it at once. If it finds an error, it shows the error and the output of your bot. "
        f"You can submit up to {Limits().submissions} times an hour. The newest version plays the next night.\n\n"
        "## See how it does\n\n"
        f"{course.address} shows the night's games while they are played, the table, and your bot's page with "
        "what went wrong. "
        "Only you can read what it wrote to its standard error.\n\n"
        "Keep your token secret: anyone who has it can submit bots in your name.\n"
    )
