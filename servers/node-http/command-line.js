// What the command line says, the same for one process and for several.
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: {
    app: { type: "string" },
    port: { type: "string" },
    "keep-alive": { type: "string" },
    workers: { type: "string", default: "1" },
  },
});

export const port = Number(values.port);
export const keepAlive = Number(values["keep-alive"]);
export const workers = Number(values.workers);

// Not imported before it is asked for: Node's http must not carry the memory of Express.
export async function loadApp() {
  const { app } = await import(`./${values.app}.js`);
  return app;
}
