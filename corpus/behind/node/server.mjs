// A Node server with causes to plant: node server.mjs PORT name=value...
//
//   beside_port=N pool=N live=MIB (of small objects that stay) tick=0|1 (a timer that expires every millisecond)
//   work=STEPS: GET /work does them in turn, joined by "+": wait:MS compute:MS alloc:KIB (garbage)
//   query:MS (asks the server at beside_port to wait, over at most `pool` connections)
import http from "node:http";

const given = Object.fromEntries(process.argv.slice(3).map((part) => part.split("=")));
const agent = new http.Agent({ keepAlive: true, maxSockets: Number(given.pool ?? 5) });
const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };

// The process's CPU time: its other threads have little to do, except where garbage is planted.
function compute(cpuMs) {
  let x = 1;
  for (const ends = used() + cpuMs; used() < ends; )
    for (let i = 0; i < 5000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return x;
}

const list = (count) => {
  let head = null;
  for (let i = 0; i < count; i++) head = { next: head, value: i, text: [i] };
  return head;
};

// What stays is renewed bit by bit, so that the collector has to look at all of it again and again.
const live = Array.from({ length: Number(given.live ?? 0) * 8 }, () => list(1024));
let oldest = 0;

const query = (ms) =>
  new Promise((done) => {
    const request = http.get({ host: "127.0.0.1", port: given.beside_port, path: `/wait?ms=${ms}`, agent }, (answer) =>
      answer.resume().on("end", done),
    );
    request.on("error", done);
  });

const DO = {
  wait: (ms) => new Promise((done) => setTimeout(done, ms)),
  compute,
  query,
  alloc: (kib) => {
    for (let i = 0; i < kib / 128; i++) {
      const made = list(1024);
      if (live.length) live[oldest++ % live.length] = made;
    }
  },
};
const parsed = (text) => text.split("+").map((part) => [part.split(":")[0], Number(part.split(":")[1])]);
const work = parsed(given.work ?? "wait:0");

async function answer(request, response) {
  const url = new URL(request.url, "http://127.0.0.1");
  const ms = Number(url.searchParams.get("ms") ?? 0);
  const steps = { "/": [], "/wait": [["wait", ms]], "/compute": [["compute", ms]], "/work": work }[url.pathname];
  for (const [what, n] of steps ?? []) await DO[what](n);
  response.writeHead(steps ? 200 : 404).end("done");
}

if (given.tick === "1") setInterval(() => {}, 1);
http.createServer(answer).listen({ host: "127.0.0.1", port: Number(process.argv[2]), backlog: 4096 });
