// The workloads hello and todos on Express, with its defaults and without middleware.
// It is not listening yet: server.js does that for one process, cluster.js for several.
import express from "express";

import { todos } from "./todos.js";

const MAX_DELAY_MS = 60_000;

export const app = express();
// Express's guide to security in production advises it: the header only tells a stranger what to attack.
app.disable("x-powered-by");

app.get("/hello", (request, response) => {
  const delayText = request.query.delay_ms || "0";
  const delayMs = /^\d+$/.test(delayText) ? Number(delayText) : NaN;
  response.type("text/plain");
  if (!(delayMs <= MAX_DELAY_MS)) {
    response
      .status(400)
      .send("delay_ms must be a whole number from 0 to 60000");
  } else if (delayMs === 0) {
    response.send("Hello, World!");
  } else {
    setTimeout(() => response.send("Hello, World!"), delayMs);
  }
});

app.get("/todos", (request, response) => {
  response.json(todos);
});
