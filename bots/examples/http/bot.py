# Plays Connect Four over HTTP: python bot.py NAME
import json, os, sys, time, urllib.request

PLAY = os.environ.get("NOUGHTS_WEB", "http://127.0.0.1:7480") + "/api/v1/play"
HEADERS = {"Authorization": "Bearer " + os.environ["NOUGHTS_TOKEN"]}


def post(address, **content):
    request = urllib.request.Request(address, json.dumps(content).encode(), HEADERS)
    return json.load(urllib.request.urlopen(request, timeout=60))


session, moves = "", []
while True:
    try:
        session = session or post(PLAY, bot=sys.argv[1], variants=["connect4"])["session"]
        report = post(f"{PLAY}/{session}/moves?wait=25", moves=moves)
    except OSError as error:
        code = getattr(error, "code", 503)  # without one, the answer was lost: send the same again
        if code not in (404, 429, 503):
            sys.exit(error.read().decode())
        session, moves = (session, moves) if code != 404 else ("", [])  # 404: open a session again
        time.sleep(1)
        continue
    for end in report["ended"]:
        print(end["game"], end["result"], end["termination"], flush=True)
    moves = []
    for turn in report["turns"]:  # the legal cell that is nearest to the middle column
        moves.append({"turn": turn["turn"], "move": min(turn["legal"], key=lambda cell: abs(cell % 7 - 3))})
