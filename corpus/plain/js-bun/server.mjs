// One program for Bun and for Deno. Both have a single JavaScript thread, which waits by timers.
import process from "node:process";

const port = Number(process.argv[2]);

// The other threads of the process have next to nothing to do while this one computes.
function compute(cpuMs) {
  const used = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const ends = used() + cpuMs;
  let x = 1;
  while (used() < ends) for (let i = 0; i < 5000; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return String(x);
}

async function answer(request) {
  const url = new URL(request.url);
  const ms = Number(url.searchParams.get("ms") ?? 0);
  if (url.pathname === "/") return new Response("hello");
  if (url.pathname === "/compute") return new Response(compute(ms));
  if (url.pathname !== "/wait") return new Response("", { status: 404 });
  await new Promise((done) => setTimeout(done, ms));
  return new Response("waited");
}

if (globalThis.Bun) Bun.serve({ hostname: "127.0.0.1", port, fetch: answer });
else Deno.serve({ hostname: "127.0.0.1", port, onListen() {} }, answer);
