// Express, with causes to plant: node server.js PORT BESIDE_PORT WORK. GET /work does WORK: wait:MS, validate:LENGTH (matches a
// name of so many letters against a pattern that goes back and forth), convert:MS (calls a tool that takes so long, by p-limit at
// most four at a time), ask:MS (asks the server at BESIDE_PORT, by an agent with five sockets).
import { execFile } from "node:child_process";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import express from "express";
import pLimit from "p-limit";

const [port, beside, work] = process.argv.slice(2);
const [what, text] = work.split(":");
const n = Number(text);

const used = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

// The process's CPU time: its other threads have nothing to do meanwhile.
function compute(cpuMs) {
  let x = 1;
  for (const ends = used() + cpuMs; used() < ends; )
    for (let i = 0; i < 5000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return String(x);
}

// Groups within groups: a name that does not match in the end is tried in all ways in which it may be divided.
const ADDRESS = /^([a-z0-9]+[.-]?)+@[a-z]+\.com$/;
const name = "a".repeat(n);
const validate = () => ADDRESS.test(name);

const tool = promisify(execFile);
const limit = pLimit(4);
const convert = () => limit(() => tool("sleep", [String(n / 1000)]));

const agent = new http.Agent({ keepAlive: true, maxSockets: 5 });
const ask = () =>
  new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port: beside, path: `/wait?ms=${n}`, agent };
    http.get(options, (answer) => answer.resume().on("end", resolve)).on("error", reject);
  });

const DO = { wait: () => sleep(n), validate, convert, ask };

const app = express();
const ms = (request) => Number(request.query.ms ?? 0);
app.get("/", (request, response) => response.send("hello"));
app.get("/wait", async (request, response) => {
  await sleep(ms(request));
  response.send("waited");
});
app.get("/compute", (request, response) => response.send(compute(ms(request))));
app.get("/work", async (request, response) => {
  await DO[what]();
  response.send("done");
});
app.listen(Number(port), "127.0.0.1");
