const send = (frame) => console.log(JSON.stringify(frame));
const games = {}; // the moves of each running game

send({ hello: { protocol: 1 } });
require("readline")
  .createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { frame, starts = [], turns = { game: [] }, heartbeat } = JSON.parse(line);
    for (const { game, move_count, moves = [] } of starts)
      game.forEach((name, row) => (games[name] = moves.splice(0, move_count[row])));
    const answers = { game: turns.game, ply: turns.ply, cell: [] };
    turns.game.forEach((name, row) => {
      const moves = (games[name] = games[name].slice(0, turns.ply[row]));
      if (moves.length < turns.ply[row]) moves.push(turns.cell[row]);
      let cell = 0;
      while (moves.includes(cell)) cell++;
      moves.push(cell);
      answers.cell.push(cell);
    });
    send({ done_through: frame, moves: answers, heartbeat });
  });
