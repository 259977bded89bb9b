// NestJS, with causes to plant: node server.js PORT WORK SCRATCH. GET /work does WORK: wait:MS, password:COST (checks a password by
// scrypt at that cost), audit:KIB (appends so much to a file and waits for the disk, in the handler), index:MS (waits; beside it, a
// thread makes an index all of the time). The decorators are called by hand: there is no TypeScript here.
require("reflect-metadata");
const crypto = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");
const { setTimeout: sleep } = require("node:timers/promises");
const { promisify } = require("node:util");
const { Worker } = require("node:worker_threads");
const { Controller, Get, Header, Module, Query } = require("@nestjs/common");
const { NestFactory } = require("@nestjs/core");

const [port, work, scratch] = process.argv.slice(2);
const [what, text] = work.split(":");
const n = Number(text);
const scrypt = promisify(crypto.scrypt);
const AUDITED = 64;

function compute(rounds) {
  let x = 1;
  for (let left = rounds * 100_000; left > 0; left--) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return String(x);
}

// Runs in a thread of its own.
function index() {
  for (;;) {
    const words = new Map();
    for (let i = 0; i < 50_000; i++) words.set(`word-${i % 5000}`, i);
  }
}

let audit;
let audited = 0;
function append() {
  audit ??= fs.openSync(path.join(scratch, "audit"), "w");
  // Begins anew when the file is long.
  fs.writeSync(audit, Buffer.alloc(n * 1024, audited), 0, n * 1024, (audited++ % AUDITED) * n * 1024);
  fs.fsyncSync(audit);
}

const DO = {
  wait: () => sleep(n),
  password: () => scrypt("correct horse", "battery staple", 32, { N: n }),
  audit: append,
  index: () => sleep(n),
};

class PlantedController {
  hello() {
    return "hello";
  }
  async wait(ms) {
    await sleep(Number(ms ?? 0));
    return "waited";
  }
  compute(ms) {
    return compute(Number(ms ?? 0));
  }
  async work() {
    await DO[what]();
    return "done";
  }
}

for (const [name, url] of [["hello", "/"], ["wait", "/wait"], ["compute", "/compute"], ["work", "/work"]]) {
  const method = Object.getOwnPropertyDescriptor(PlantedController.prototype, name);
  Get(url)(PlantedController.prototype, name, method);
  Header("Content-Type", "text/plain")(PlantedController.prototype, name, method);
  if (method.value.length) Query("ms")(PlantedController.prototype, name, 0);
}
Controller()(PlantedController);

class PlantedModule {}
Module({ controllers: [PlantedController] })(PlantedModule);

async function main() {
  if (what === "index") new Worker(`(${index})()`, { eval: true });
  const app = await NestFactory.create(PlantedModule, { logger: ["error"] });
  await app.listen(Number(port), "127.0.0.1");
}

main();
