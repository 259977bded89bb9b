// Fastify, which waits on its loop and computes in Piscina's pool of worker threads: node server.js PORT THREADS
import Fastify from "fastify";
import { Piscina } from "piscina";

const threads = Number(process.argv[3]);
const pool = new Piscina({
  filename: new URL("compute.js", import.meta.url).href,
  minThreads: threads,
  maxThreads: threads,
});
const fastify = Fastify();

fastify.get("/", async () => "hello");
fastify.get("/wait", async (request) => {
  await new Promise((done) => setTimeout(done, Number(request.query.ms ?? 0)));
  return "waited";
});
fastify.get("/compute", (request) => pool.run(Number(request.query.ms ?? 0)));

await fastify.listen({ host: "127.0.0.1", port: Number(process.argv[2]), backlog: 1024 });
