"""A GTP engine that takes the first free point, row by row from the lowest: `python gtp_engine.py HABIT[+HABIT...]`.

It accepts numbers of commands only with the habit `numbers` (it repeats them) or `swallows` (it does not).
"""

import sys
import time

LETTERS = "ABCDEFGHJKLMNOPQRSTUVWXYZ"
HABITS = set(sys.argv[1].split("+"))
size, genmoves = 19, 0
number = ""
board: dict[str, str] = {}


def answer(text: str, mark: str = "=") -> None:
    text_out = f"{mark}{number if 'numbers' in HABITS else ''} {text}\n"
    if "next-line" in HABITS and text:
        text_out = text_out.replace(" ", "\n", 1)
    if "noise" in HABITS:
        text_out = f"loading weights\n\ninfo depth 3 = 4\n\n{text_out}"
    if "late-noise" in HABITS:
        text_out = f"{text_out}info time 5\n"
    if "unended" not in HABITS:
        text_out += "\n"
    if "blanks" in HABITS:
        text_out = f"\n \n{text_out}\n\n"
    if "twice" in HABITS:
        text_out *= 2
    sys.stdout.write(text_out.replace("\n", "\r\n") if "cr" in HABITS else text_out)
    sys.stdout.flush()


if "banner" in HABITS:
    sys.stdout.write("An engine, version 1\n")
    sys.stdout.flush()
for line in sys.stdin:
    name, *words = line.split()
    if name.isdigit() and not HABITS.isdisjoint(("numbers", "swallows")):
        number, name, words = name, words[0], words[1:]
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
        genmoves += 1
        free = [f"{LETTERS[c]}{r}" for r in range(1, size + 1) for c in range(size) if f"{LETTERS[c]}{r}" not in board]
        if "slow" in HABITS:
            time.sleep(0.1)
        if "pass" in HABITS:
            answer("pass")
        elif "resign" in HABITS:
            answer("resign")
        elif "crash" in HABITS and genmoves > 1:
            sys.exit(3)
        elif "refuses" in HABITS and genmoves % 2 == 0:
            answer("cannot think", "?")
        else:
            board[free[0]] = words[0]
            sys.stderr.write("thinking\n")
            answer("nowhere" if "garbles" in HABITS and genmoves % 2 == 0 else free[0].lower())
    elif name == "lz-genmove_analyze":
        free = [f"{LETTERS[c]}{r}" for r in range(1, size + 1) for c in range(size) if f"{LETTERS[c]}{r}" not in board]
        board[free[0]] = words[0]
        sys.stdout.write(f"={number if 'numbers' in HABITS else ''}\n")
        for visits in (10, 812):
            other = f"info move {free[1]} visits 5 winrate 100 order 1 pv {free[1]} {free[0]}"
            best = f"info move {free[0]} visits {visits} winrate 6200 prior 1760 order 0 pv {' '.join(free[:3])} pass"
            sys.stdout.write(f"{best} {other}\n")
        sys.stdout.write(f"play {free[0]}\n\n")
        sys.stdout.flush()
    elif name == "quit":
        answer("")
        break
    elif "silent" not in HABITS:
        answer("unknown command", "?")
