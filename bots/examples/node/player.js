// Chooses the moves: wins if it can, blocks if it must, and otherwise plays a random cell.

const FREE = -1;
const PLY_STEP = 0xd1342543de82ef95n;
const GAMMA = 0x9e3779b97f4a7c15n;

/** Returns a random number from 0 to `bound - 1`, which depends only on the game's seed (a BigInt) and the ply. */
export function randomBelow(seed, ply, bound) {
  let bits = BigInt.asUintN(64, seed + BigInt(ply) * PLY_STEP + GAMMA); // splitmix64, the first step from (seed, ply)
  bits = BigInt.asUintN(64, (bits ^ (bits >> 30n)) * 0xbf58476d1ce4e5b9n);
  bits = BigInt.asUintN(64, (bits ^ (bits >> 27n)) * 0x94d049bb133111ebn);
  bits ^= bits >> 31n;
  return Number((bits * BigInt(bound)) >> 64n);
}

const NAMED = { tictactoe: "mnk:3,3,3", gomoku: "mnk:15,15,5", gomoku20: "mnk:20,20,5" };

/** Returns the number of cells, and the lines through each cell (arrays of cells); null if the variant is unknown. */
export function parseVariant(name) {
  const match = /^mnk:(\d+),(\d+),(\d+)$/.exec(NAMED[name] ?? name);
  if (!match) return null;
  const [columns, rows, length] = match.slice(1).map(Number);
  const linesThrough = Array.from({ length: columns * rows }, () => []);
  for (let cell = 0; cell < columns * rows; cell++) {
    for (const [right, down] of [
      [1, 0],
      [0, 1],
      [1, 1],
      [-1, 1],
    ]) {
      const lastColumn = (cell % columns) + right * (length - 1);
      const lastRow = Math.floor(cell / columns) + down * (length - 1);
      if (lastColumn < 0 || lastColumn >= columns || lastRow >= rows) continue;
      const line = Array.from({ length }, (_, step) => cell + step * (down * columns + right));
      line.forEach((member) => linesThrough[member].push(line));
    }
  }
  return { cells: columns * rows, linesThrough };
}

/** Returns a free cell. `moves` are the cells in the order played; their number shows which side is to move. */
export function choose(variant, moves, seed) {
  const owner = new Int8Array(variant.cells).fill(FREE);
  moves.forEach((cell, ply) => (owner[cell] = ply % 2));
  const own = moves.length % 2;
  const free = [...owner.keys()].filter((cell) => owner[cell] === FREE);
  const completes = (cell, side) =>
    variant.linesThrough[cell].some((line) => line.every((other) => other === cell || owner[other] === side));
  return (
    free.find((cell) => completes(cell, own)) ??
    free.find((cell) => completes(cell, 1 - own)) ??
    free[randomBelow(seed, moves.length, free.length)]
  );
}
