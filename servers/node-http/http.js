// The workloads on Node's own http module, without a framework. It is not listening yet: listen.js does that.
import { bookRows, optionRows } from "./jobs/database.js";
import { writtenAndRead } from "./jobs/file.js";
import { digestAfter } from "./jobs/hash.js";
import { mixOf } from "./jobs/mix.js";
import { primesBelow } from "./jobs/primes.js";
import { todos } from "./jobs/todos.js";
import * as parameters from "./parameters.js";

const HANDLERS = new Map([
  ["/hello", hello],
  ["/todos", (response) => answerJson(response, todos)],
  ["/hash", hash],
  ["/file", file],
  ["/options", awaited(options)],
  ["/rows", awaited(rows)],
  ["/primes", primes],
  ["/mix", awaited(mix)],
]);

export function app(request, response) {
  // Not new URL(request.url): it throws on targets such as "//", which any client may send.
  const [path, query] = request.url.split("?", 2);
  const handler = HANDLERS.get(path);
  if (handler === undefined) {
    answer(response, 404, "text/plain", "no such path");
  } else if (request.method !== "GET") {
    response.setHeader("Allow", "GET");
    answer(response, 405, "text/plain", "only GET");
  } else {
    try {
      handler(response, query);
    } catch (error) {
      answerError(response, error);
    }
  }
}

function hello(response, query) {
  const delayMs = parameters.delayMs(
    new URLSearchParams(query).get("delay_ms"),
  );
  if (delayMs === 0) {
    answerText(response, "Hello, World!");
  } else {
    setTimeout(answerText, delayMs, response, "Hello, World!");
  }
}

function hash(response, query) {
  const rounds = parameters.rounds(new URLSearchParams(query).get("n"));
  digestAfter(rounds, answerTextOrError(response));
}

function file(response, query) {
  const fill = parameters.fill(new URLSearchParams(query).get("fill"));
  writtenAndRead(fill, answerTextOrError(response));
}

async function options(response) {
  answerJson(response, await optionRows());
}

async function rows(response) {
  answerJson(response, await bookRows());
}

function primes(response, query) {
  const below = parameters.below(new URLSearchParams(query).get("below"));
  answerJson(response, primesBelow(below));
}

async function mix(response, query) {
  const asked = new URLSearchParams(query);
  const waitMs = parameters.waitMs(asked.get("wait_ms"));
  const spinUs = parameters.spinUs(asked.get("spin_us"));
  const bytes = parameters.bytes(asked.get("bytes"));
  answerText(response, await mixOf(waitMs, spinUs, bytes));
}

function awaited(handler) {
  return (response, query) =>
    handler(response, query).catch((error) => answerError(response, error));
}

function answerTextOrError(response) {
  return (error, body) =>
    error ? answerError(response, error) : answerText(response, body);
}

function answerText(response, body) {
  answer(response, 200, "text/plain", body);
}

function answerJson(response, value) {
  answer(response, 200, "application/json", JSON.stringify(value));
}

function answerError(response, error) {
  const status = error instanceof parameters.BadParameter ? 400 : 500;
  answer(response, status, "text/plain", error.message);
}

function answer(response, status, contentType, body) {
  // Without a length, writeHead followed by end would fall back to chunks.
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}
