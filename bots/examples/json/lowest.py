import json
import sys


def send(**frame: object) -> None:
    print(json.dumps(frame), flush=True)


send(hello={"protocol": 1})
games = {}  # the moves of each running game
for frame in map(json.loads, sys.stdin):
    for starts in frame.get("starts", ()):
        moves = iter(starts.get("moves", ()))
        for game, count in zip(starts["game"], starts["move_count"]):
            games[game] = [next(moves) for _ in range(count)]
    turns = frame.get("turns", {"game": [], "ply": [], "cell": []})
    for game, ply, cell in zip(turns["game"], turns["ply"], turns["cell"]):
        moves = games[game][:ply]
        if len(moves) < ply:
            moves.append(cell)
        games[game] = [*moves, next(cell for cell in range(900) if cell not in moves)]
    cells = [games[game][-1] for game in turns["game"]]
    answers = {"game": turns["game"], "ply": turns["ply"], "cell": cells}
    send(done_through=frame.get("frame", 0), moves=answers, heartbeat=frame.get("heartbeat"))
