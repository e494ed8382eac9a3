// A bot for Noughts in Node: NOUGHTS_TOKEN=... node bot.js --server HOST:PORT --name NAME
//
// This file speaks the protocol (docs/reference/protocol.md), player.js chooses the moves.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import grpc from "@grpc/grpc-js";
import protoLoader from "@grpc/proto-loader";
import { choose, parseVariant } from "./player.js";

const PROTOCOL = 1;
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000; // well below the reconnect timeout, so that running games are not lost
const CHANNEL_OPTIONS = {
  "grpc.keepalive_time_ms": 10_000,
  "grpc.keepalive_timeout_ms": 5_000,
  "grpc.keepalive_permit_without_calls": 1,
  "grpc.max_receive_message_length": 8 * 1024 * 1024, // the largest frame
};
// After these statuses the bot reconnects. After any other status, a second attempt would fail, too.
const TEMPORARY = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL"]);

const folder = (path) => fileURLToPath(new URL(path, import.meta.url));

function loadService(protoFolder) {
  const definition = protoLoader.loadSync("noughts_proto/v1/play.proto", {
    includeDirs: [protoFolder, folder(".")],
    keepCase: true, // done_through, not doneThrough
    longs: String, // handles and seeds have 64 bits, too many for a Number
    enums: String,
    defaults: true, // an empty column is [], not undefined
  });
  return grpc.loadPackageDefinition(definition).noughts.v1.PlayService;
}

/** The games of one session. Reads frames and returns the bot's answers. */
class Games {
  constructor() {
    this.running = new Map(); // by handle: { variant, moves, seed }
    this.variants = new Map(); // by name
    this.finished = 0;
  }

  /** Reads a frame, and returns the columns of `Moves` that answer it. */
  answer(frame) {
    frame.starts.forEach((starts) => this.start(starts));
    const moves = { game: [], ply: [], cell: [], resigned: [] };
    frame.turns?.game.forEach((handle, row) => {
      const game = this.running.get(handle);
      const ply = frame.turns.ply[row];
      catchUp(game.moves, ply, frame.turns.cell[row]);
      if (!game.variant) moves.resigned.push(moves.game.length); // an unknown variant: do not lose on time
      const cell = game.variant ? choose(game.variant, game.moves, game.seed) : 0;
      game.moves.push(cell);
      moves.game.push(handle);
      moves.ply.push(ply);
      moves.cell.push(cell);
    });
    if (frame.ends) this.end(frame.ends);
    return moves;
  }

  start(starts) {
    if (!this.variants.has(starts.variant)) this.variants.set(starts.variant, parseVariant(starts.variant));
    const variant = this.variants.get(starts.variant);
    let read = 0;
    starts.game.forEach((handle, row) => {
      const moves = starts.moves.slice(read, read + starts.move_count[row]);
      read += moves.length;
      this.running.set(handle, { variant, moves, seed: BigInt(starts.seed[row]) });
    });
  }

  end(ends) {
    for (const handle of ends.game) this.running.delete(handle);
    this.finished += ends.game.length;
    ends.faulted.forEach((row, index) => {
      console.error(`game ${ends.game[row]}: ${ends.termination[row]}, this bot ${ends.fault[index]}`);
    });
  }
}

/** Brings a game to `ply` moves: appends the last one if it is unknown, or removes an answer to a repeated question. */
function catchUp(moves, ply, lastCell) {
  if (moves.length < ply) moves.push(lastCell);
  moves.length = ply;
}

/** Plays one session, and resolves to the status that ended its stream. */
function play(client, token, hello, onWelcome) {
  return new Promise((resolve) => {
    const metadata = new grpc.Metadata();
    metadata.set("authorization", `Bearer ${token}`);
    const games = new Games();
    const stream = client.Play(metadata);
    stream.on("data", (frame) => {
      if (frame.welcome) onWelcome(frame.welcome);
      frame.statuses.forEach((status) => console.error(`the referee reports an error: ${status.message}`));
      if (frame.heartbeat) stream.write({ heartbeat: frame.heartbeat });
      if (frame.frame !== "0") stream.write({ done_through: frame.frame, moves: games.answer(frame) });
    });
    stream.on("error", () => {}); // the status reports it, too
    stream.on("status", (status) => resolve({ ...status, finished: games.finished }));
    stream.write({ hello });
  });
}

/** Plays until the server ends the session or refuses the bot; reconnects after a failure. Returns the exit code. */
async function run(PlayService, server, credentials, token, hello) {
  let wait = FIRST_WAIT_MS;
  for (;;) {
    const client = new PlayService(server, credentials, CHANNEL_OPTIONS);
    const status = await play(client, token, hello, (welcome) => {
      wait = FIRST_WAIT_MS;
      console.log(`playing as ${welcome.version} on ${server}`);
    });
    client.close();
    const code = grpc.status[status.code];
    const summary = `${code}: ${status.details} (${status.finished} games finished)`;
    if (code === "OK") {
      console.log(`the server ended the session: ${summary}`);
      return 0;
    }
    if (!TEMPORARY.has(code)) {
      console.error(`the server refused the bot: ${summary}`);
      return 1;
    }
    console.error(`connection lost, connecting again in ${wait} ms: ${summary}`);
    await sleep(wait * (0.5 + Math.random() / 2)); // so that not all bots connect at the same time
    wait = Math.min(2 * wait, LONGEST_WAIT_MS);
  }
}

const USAGE = `usage: NOUGHTS_TOKEN=... node bot.js [--server HOST:PORT] [--name NAME] [--version V] [--proto FOLDER]
       [--tls | --tls-ca FILE]
FOLDER contains noughts_proto/. The operator of the server creates a token: noughts token create --owner NAME`;

/** Returns the options of the command line. Exits with code 2 if one of them is wrong. */
function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        server: { type: "string", default: process.env.NOUGHTS_SERVER || "127.0.0.1:7450" },
        name: { type: "string", default: "node" },
        version: { type: "string", default: "1" },
        proto: { type: "string", default: folder("../../../proto") },
        tls: { type: "boolean", default: false },
        "tls-ca": { type: "string" },
      },
    });
    if (!process.env.NOUGHTS_TOKEN) throw new Error("no token: set NOUGHTS_TOKEN");
    const ca = values["tls-ca"] ? readFileSync(values["tls-ca"]) : null;
    const encrypted = values.tls || ca !== null;
    const credentials = encrypted ? grpc.credentials.createSsl(ca) : grpc.credentials.createInsecure();
    return { ...values, credentials, token: process.env.NOUGHTS_TOKEN, service: loadService(values.proto) };
  } catch (error) {
    console.error(`${error.message}\n${USAGE}`);
    process.exit(2);
  }
}

const { service, server, credentials, token, name, version } = readOptions();
const hello = { protocol: PROTOCOL, bot: name, version, agent: "noughts-node-bot/1.0.0" };
process.exitCode = await run(service, server, credentials, token, hello);
