import sys

for line in sys.stdin:
    variant, side, *moves = line.split()
    print(next(cell for cell in range(900) if str(cell) not in moves), flush=True)
