// Where and how an application listens; the same for Node's http and for Express.
import { createServer } from "node:http";

import { keepAlive, port } from "./command-line.js";

// As many as Linux lets wait by default; Node's own default is 511.
const BACKLOG = 4096;

export function listen(app) {
  const server = createServer({ keepAliveTimeout: keepAlive * 1_000 }, app);
  // To Node a timeout of 0 is none: connections would stay for ever.
  if (keepAlive === 0) {
    server.prependListener("request", (request, response) => {
      response.setHeader("Connection", "close");
    });
  }
  server.listen({ port, host: "127.0.0.1", backlog: BACKLOG });
}
