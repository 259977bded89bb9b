// Fastify, with causes to plant: node server.js PORT WORK. GET /work does WORK: wait:MS, probe:MS (calls a tool that takes so long,
// and waits for it), sessions:COUNT (makes so many sessions new), pack:KIB (compresses so much by zlib's asynchronous function).
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import Fastify from "fastify";

const [port, work] = process.argv.slice(2);
const [what, text] = work.split(":");
const n = Number(text);

function compute(rounds) {
  let x = 1;
  for (let left = rounds * 100_000; left > 0; left--) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return String(x);
}

// What the server knows of those who are logged in; the oldest are forgotten.
const LIVE = 400_000;
const sessions = what === "sessions" ? new Array(LIVE).fill(null) : [];
let last = 0;
function login(count) {
  for (let i = 0; i < count; i++) {
    last++;
    sessions[last % LIVE] = { id: last, seen: [last, last + 1], rights: { read: true, write: [last] }, basket: [] };
  }
}
if (what === "sessions") login(LIVE);

const lines = Array.from({ length: what === "pack" ? n * 25 : 0 }, (_, i) => `GET /articles/${(i * 7919) % 100_003} 200`);
const log = Buffer.from(lines.join("\n"));
const packed = promisify(gzip);

const DO = {
  wait: () => sleep(n),
  probe: () => execFileSync("sleep", [String(n / 1000)]),
  sessions: () => login(n),
  pack: () => packed(log, { level: 9 }),
};

const app = Fastify();
const ms = (request) => Number(request.query.ms ?? 0);
app.get("/", async () => "hello");
app.get("/wait", async (request) => sleep(ms(request), "waited"));
app.get("/compute", async (request) => compute(ms(request)));
app.get("/work", async () => {
  await DO[what]();
  return "done";
});
await app.listen({ host: "127.0.0.1", port: Number(port) });
