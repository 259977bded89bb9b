// Hono with Redis behind it, with causes to plant: node server.js PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, poll:MS (waits so
// long for a job, on the connection that all share), keys (looks for keys by a pattern, among all there are).
import { setTimeout as sleep } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { Redis } from "ioredis";

const [port, besidePort, work] = process.argv.slice(2);
const [what, text] = work.split(":");
const n = Number(text ?? 0);

function compute(rounds) {
  let x = 1;
  for (let left = rounds * 100_000; left > 0; left--) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return String(x);
}

let redis;
if (what !== "wait") {
  const told = await fetch(`http://127.0.0.1:${besidePort}/`);
  redis = new Redis({ host: "127.0.0.1", port: Number(await told.text()) });
}

const DO = {
  wait: () => sleep(n),
  poll: () => redis.blpop("jobs", n / 1000),
  keys: () => redis.keys("session:7*99*1"),
};

const app = new Hono();
const ms = (c) => Number(c.req.query("ms") ?? 0);
app.get("/", (c) => c.text("hello"));
app.get("/wait", async (c) => {
  await sleep(ms(c));
  return c.text("waited");
});
app.get("/compute", (c) => c.text(compute(ms(c))));
app.get("/work", async (c) => {
  await DO[what]();
  return c.text("done");
});
serve({ fetch: app.fetch, hostname: "127.0.0.1", port: Number(port) });
