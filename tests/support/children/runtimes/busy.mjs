// Threads, files, programs and timers in JavaScript.
import { execFileSync } from "node:child_process";
import { copyFileSync, writeFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { Worker } from "node:worker_threads";

let done = 0;
const ended = (worker) => new Promise((resolve) => worker.on("exit", (code) => resolve((done += code === 0))));
await Promise.all(
  [1, 2, 3, 4].map(() => ended(new Worker("let s = ''; for (let n = 0; n < 1e5; n++) s += n", { eval: true }))),
);
writeFileSync("note", "here");
copyFileSync("note", "copy");
await pause(1);
console.log(done, execFileSync("cat", ["copy"]).toString());
