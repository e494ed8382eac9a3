"""An engine that speaks GTP and takes the lowest free point, in its own order: `python gtp_engine.py HABIT`."""

import sys

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
HABIT = sys.argv[1]
size, asked = 19, 0
board: dict[str, str] = {}


def answer(text: str, mark: str = "=") -> None:
    sys.stdout.write(f"{mark} {text}\n\n")
    sys.stdout.flush()


for line in sys.stdin:
    name, *words = line.split()
    if name == "boardsize":
        size = int(words[0])
        answer("")
    elif name == "clear_board":
        board = {}
        answer("")
    elif name == "play":
        if words[1] in board:
            answer("illegal move", "?")
        else:
            board[words[1]] = words[0]
            answer("")
    elif name == "genmove":
        asked += 1
        free = [f"{LETTERS[c]}{r}" for r in range(1, size + 1) for c in range(size) if f"{LETTERS[c]}{r}" not in board]
        if HABIT == "pass":
            answer("pass")
        elif HABIT == "resign":
            answer("resign")
        elif HABIT == "crash" and asked > 1:
            sys.exit(3)
        else:
            board[free[0]] = words[0]
            sys.stderr.write("thinking\n")
            answer(free[0].lower())
    elif name == "quit":
        answer("")
        break
    else:
        answer("unknown command", "?")
