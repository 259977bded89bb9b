// Node: the main loop reads and waits, worker threads compute. node server.mjs PORT THREADS
import http from "node:http";
import { isMainThread, parentPort, Worker } from "node:worker_threads";

// A worker has no clock of its own CPU time in Node 18 to 22: a "millisecond" is this many rounds, on any machine.
const ROUNDS = 500_000;

function compute(ms) {
  let x = 1;
  for (let i = 0; i < ms * ROUNDS; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return String(x);
}

function serve(port, threads) {
  const idle = [];
  const queue = [];
  const next = () => {
    while (idle.length && queue.length) {
      const worker = idle.pop();
      const { ms, response } = queue.shift();
      worker.once("message", (body) => {
        response.end(body);
        idle.push(worker);
        next();
      });
      worker.postMessage(ms);
    }
  };
  for (let i = 0; i < threads; i++) idle.push(new Worker(new URL(import.meta.url)));
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, "http://127.0.0.1");
    const ms = Number(url.searchParams.get("ms") ?? 0);
    if (url.pathname === "/") response.end("hello");
    else if (url.pathname === "/wait") setTimeout(() => response.end("waited"), ms);
    else if (url.pathname === "/compute") queue.push({ ms, response }) && next();
    else response.writeHead(404).end();
  });
  server.listen({ host: "127.0.0.1", port, backlog: 1024 });
}

if (isMainThread) serve(Number(process.argv[2]), Number(process.argv[3]));
else parentPort.on("message", (ms) => parentPort.postMessage(compute(ms)));
