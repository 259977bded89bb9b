// Serves app.js from several worker processes that share one port, by Node's cluster module.
// A worker that dies is not replaced: a lost worker must fail the trial, not slow it down unseen.
import cluster from "node:cluster";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { port: { type: "string" }, workers: { type: "string" } },
});

if (cluster.isPrimary) {
  runPrimary(Number(values.workers));
} else {
  await runWorker(Number(values.port));
}

function runPrimary(workers) {
  let loaded = 0;
  let stopping = false;

  const everyWorker = () => Object.values(cluster.workers);
  const stop = () => {
    stopping = true;
    everyWorker().forEach((worker) => worker.process.kill("SIGTERM"));
  };

  // The first worker to listen opens the port for all. Were each to listen as soon as it has loaded, the first would
  // keep most of the connections a client opens early, and another might get none.
  cluster.on("message", () => {
    loaded += 1;
    if (loaded === workers) {
      everyWorker().forEach((worker) => worker.send("listen"));
    }
  });
  cluster.on("exit", (worker, code, signal) => {
    if (!stopping) {
      const how = signal ?? `code ${code}`;
      console.error(`worker ${worker.process.pid} ended unasked (${how})`);
      process.exitCode = 1;
      stop();
    }
  });
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);

  for (let forked = 0; forked < workers; forked += 1) {
    cluster.fork();
  }
}

async function runWorker(port) {
  // Imported here, so that the primary does not carry the memory of an application it never runs.
  const { app } = await import("./app.js");
  process.once("message", () => app.listen(port, "127.0.0.1"));
  process.send("loaded");
}
