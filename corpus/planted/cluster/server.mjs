// Node's cluster, with causes to plant: node server.mjs PORT name=value...
//
//   workers=N (processes) work=STEPS: GET /work does them in turn, joined by "+": wait:MS compute:MS (in the worker)
//   primary:MS (the worker asks the primary process to compute)
import cluster from "node:cluster";
import http from "node:http";

const given = Object.fromEntries(process.argv.slice(3).map((part) => part.split("=")));
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };

// The process's CPU time: its other threads have next to nothing to do.
function compute(cpuMs) {
  let x = 1;
  for (const ends = used() + cpuMs; used() < ends; )
    for (let i = 0; i < 5000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return x;
}

const asked = new Map();
let count = 0;
const ask = (ms) =>
  new Promise((done) => {
    asked.set(++count, done);
    process.send({ id: count, ms });
  });

const DO = { wait: (ms) => new Promise((done) => setTimeout(done, ms)), compute, primary: ask };
const work = (given.work ?? "wait:0").split("+").map((part) => [part.split(":")[0], Number(part.split(":")[1])]);

async function answer(request, response) {
  const url = new URL(request.url, "http://127.0.0.1");
  const ms = Number(url.searchParams.get("ms") ?? 0);
  const steps = { "/": [], "/wait": [["wait", ms]], "/compute": [["compute", ms]], "/work": work }[url.pathname];
  for (const [what, n] of steps ?? []) await DO[what](n);
  response.writeHead(steps ? 200 : 404).end("done");
}

if (cluster.isPrimary) {
  for (let i = 0; i < Number(given.workers ?? 2); i++) cluster.fork();
  cluster.on("message", (worker, { id, ms }) => worker.send({ id, result: compute(ms) }));
  cluster.on("exit", () => process.exit(1)); // of the workers none may be missing
  process.on("SIGTERM", () => process.exit(0));
} else {
  process.on("message", ({ id }) => {
    if (asked.has(id)) asked.get(id)();
    asked.delete(id);
  });
  http.createServer(answer).listen({ host: "127.0.0.1", port: Number(process.argv[2]), backlog: 4096 });
}
