// The workloads hello and todos on Node's own http module, without a framework.
// It is not listening yet: server.js does that for one process, cluster.js for several.
import { createServer } from "node:http";

import { todos } from "./todos.js";

const MAX_DELAY_MS = 60_000;

export const app = createServer(route);

function route(request, response) {
  // Not new URL(request.url): it throws on targets such as "//", which any client may send.
  const [path, query] = request.url.split("?", 2);
  if (path !== "/hello" && path !== "/todos") {
    answer(response, 404, "text/plain", "no such path");
  } else if (request.method !== "GET") {
    response.setHeader("Allow", "GET");
    answer(response, 405, "text/plain", "only GET");
  } else if (path === "/hello") {
    hello(response, new URLSearchParams(query).get("delay_ms") || "0");
  } else {
    answer(response, 200, "application/json", JSON.stringify(todos));
  }
}

function hello(response, delayText) {
  const delayMs = /^\d+$/.test(delayText) ? Number(delayText) : NaN;
  if (!(delayMs <= MAX_DELAY_MS)) {
    answer(
      response,
      400,
      "text/plain",
      "delay_ms must be a whole number from 0 to 60000",
    );
  } else if (delayMs === 0) {
    answer(response, 200, "text/plain", "Hello, World!");
  } else {
    setTimeout(answer, delayMs, response, 200, "text/plain", "Hello, World!");
  }
}

function answer(response, status, contentType, body) {
  // Without a length, writeHead followed by end would fall back to chunks.
  response.writeHead(status, {
    "Content-Type": contentType,
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}
