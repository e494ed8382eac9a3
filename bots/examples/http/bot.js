// Plays Connect Four over HTTP: node bot.js NAME
const PLAY = `${process.env.NOUGHTS_WEB ?? "http://127.0.0.1:7480"}/api/v1/play`;
const headers = { Authorization: `Bearer ${process.env.NOUGHTS_TOKEN}` };
const post = (address, content) => fetch(address, { method: "POST", headers, body: JSON.stringify(content) });
const second = () => new Promise((resolve) => setTimeout(resolve, 1000));
// the legal cell that is nearest to the middle column
const choose = (legal) => legal.sort((a, b) => Math.abs((a % 7) - 3) - Math.abs((b % 7) - 3))[0];

async function play(name) {
  let [session, moves] = ["", []];
  while (true) {
    try {
      const answer = await (session
        ? post(`${PLAY}/${session}/moves?wait=25`, { moves })
        : post(PLAY, { bot: name, variants: ["connect4"] }));
      const report = await answer.json();
      if (answer.status === 404) [session, moves] = ["", []]; // the session is over: open one again
      else if (answer.status === 429 || answer.status === 503) await second();
      else if (!answer.ok) return console.error(report.error.message);
      else if (report.session) session = report.session;
      else {
        for (const end of report.ended) console.log(end.game, end.result, end.termination);
        moves = report.turns.map(({ turn, legal }) => ({ turn, move: choose(legal) }));
      }
    } catch {
      await second(); // the answer was lost: send the same again
    }
  }
}
play(process.argv[2]);
