// Hapi, with causes to plant: node server.js PORT WORK POOL SCRATCH. GET /work does WORK: wait:MS, search:MS (goes through
// a list on the loop), save:KIB (saves a document of its own by write-file-atomic), thumbnail:MS (one of POOL threads, by Piscina,
// waits for a tool that it calls).
import { mkdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import Hapi from "@hapi/hapi";
import { Piscina } from "piscina";
import writeFileAtomic from "write-file-atomic";

const [port, work, pool, scratch] = process.argv.slice(2);
const [what, text] = work.split(":");
const n = Number(text);
const piscina = new Piscina({
  filename: new URL("thumbnail.js", import.meta.url).href,
  minThreads: Number(pool),
  maxThreads: Number(pool),
});

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

// A search in a list that has grown: find() for each line of an order, where a Map would do.
const articles = Array.from({ length: 10_000 }, (_, i) => ({ id: `A-${i * 7}`, price: i % 900 }));
function search(cpuMs) {
  let price = 0;
  for (const ends = used() + cpuMs; used() < ends; )
    price += articles.find((article) => article.id === `A-${7 * (9000 + (price % 1000))}`).price;
  return String(price);
}

mkdirSync(`${scratch}/documents`);
const content = Buffer.alloc(n * 1024, "{\"text\": \"as it was\"}");
let saved = 0;
const save = () => writeFileAtomic(`${scratch}/documents/${saved++ % 256}.json`, content);

const DO = { wait: () => sleep(n), search: () => search(n), save, thumbnail: () => piscina.run(n) };

const server = Hapi.server({ host: "127.0.0.1", port: Number(port) });
const ms = (request) => Number(request.query.ms ?? 0);
server.route([
  { method: "GET", path: "/", handler: () => "hello" },
  { method: "GET", path: "/wait", handler: (request) => sleep(ms(request), "waited") },
  { method: "GET", path: "/compute", handler: (request) => compute(ms(request)) },
  {
    method: "GET",
    path: "/work",
    handler: async () => {
      await DO[what]();
      return "done";
    },
  },
]);
await server.start();
