// Serves an application from several worker processes that share one port, by Node's cluster module.
// A worker that dies is not replaced: a lost worker must fail the trial, not slow it down unseen.
import cluster from "node:cluster";

import { loadApp, workers } from "./command-line.js";
import { listen } from "./listen.js";

if (cluster.isPrimary) {
  await runPrimary();
} else {
  await runWorker();
}

async function runPrimary() {
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

async function runWorker() {
  // Loaded here, so that the primary does not carry the memory of an application it never runs.
  const app = await loadApp();
  process.once("message", () => listen(app));
  process.send("loaded");
}
