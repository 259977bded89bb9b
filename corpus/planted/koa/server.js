// Koa, which hashes passwords in libuv's pool of four threads: node server.js PORT WORK EXPORT SCRATCH
// GET /work does WORK: hash:MS or wait:MS. With EXPORT "yes" a second process writes a compressed export, over and over.
import { fork } from "node:child_process";
import { pbkdf2 } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import Koa from "koa";

// A thread of libuv has no clock that can be asked: a "millisecond" is so many rounds, on any machine.
const ROUNDS = 2500;

const [port, work, exporting, scratch] = process.argv.slice(2);
const [what, n] = work.split(":");
const derive = promisify(pbkdf2);
const hash = async (ms) => (await derive("secret", "salt", ROUNDS * ms, 32, "sha256")).toString("hex");

if (exporting === "yes") {
  const child = fork(new URL("export.js", import.meta.url), [scratch]);
  process.on("exit", () => child.kill());
  process.on("SIGTERM", () => process.exit());
}

const app = new Koa();
app.use(async (context) => {
  const ms = Number(context.query.ms ?? 0);
  switch (context.path) {
    case "/":
      context.body = "hello";
      break;
    case "/wait":
      await sleep(ms);
      context.body = "waited";
      break;
    case "/compute":
      context.body = await hash(ms);
      break;
    case "/work":
      await (what === "hash" ? hash(Number(n)) : sleep(Number(n)));
      context.body = "done";
      break;
  }
});
app.listen({ host: "127.0.0.1", port: Number(port), backlog: 1024 });
