// The workloads on Express, with its defaults and without middleware. It is not listening yet: listen.js does that.
import express from "express";

import { bookRows, optionRows } from "./jobs/database.js";
import { writtenAndRead } from "./jobs/file.js";
import { digestAfter } from "./jobs/hash.js";
import { mixOf } from "./jobs/mix.js";
import { primesBelow } from "./jobs/primes.js";
import { todos } from "./jobs/todos.js";
import * as parameters from "./parameters.js";

export const app = express();
// Express's guide to security in production advises it: the header only tells a stranger what to attack.
app.disable("x-powered-by");

app.get("/hello", (request, response) => {
  const delayMs = parameters.delayMs(request.query.delay_ms);
  response.type("text/plain");
  if (delayMs === 0) {
    response.send("Hello, World!");
  } else {
    setTimeout(() => response.send("Hello, World!"), delayMs);
  }
});

app.get("/todos", (request, response) => {
  response.json(todos);
});

app.get("/hash", (request, response, next) => {
  const rounds = parameters.rounds(request.query.n);
  digestAfter(rounds, sendTextOrFail(response, next));
});

app.get("/file", (request, response, next) => {
  const fill = parameters.fill(request.query.fill);
  writtenAndRead(fill, sendTextOrFail(response, next));
});

app.get("/options", async (request, response) => {
  response.json(await optionRows());
});

app.get("/rows", async (request, response) => {
  response.json(await bookRows());
});

app.get("/primes", (request, response) => {
  response.json(primesBelow(parameters.below(request.query.below)));
});

app.get("/mix", async (request, response) => {
  const { wait_ms, spin_us, bytes } = request.query;
  const body = await mixOf(
    parameters.waitMs(wait_ms),
    parameters.spinUs(spin_us),
    parameters.bytes(bytes),
  );
  response.type("text/plain").send(body);
});

// Express takes it for an error handler by its four parameters; its own would answer a page of HTML.
app.use((error, request, response, next) => {
  const status = error instanceof parameters.BadParameter ? 400 : 500;
  response.status(status).type("text/plain").send(error.message);
});

function sendTextOrFail(response, next) {
  return (error, body) =>
    error ? next(error) : response.type("text/plain").send(body);
}
