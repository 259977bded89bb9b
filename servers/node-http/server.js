// Serves app.js from this one process; cluster.js is the way to several.
import { parseArgs } from "node:util";

import { app } from "./app.js";

const { values } = parseArgs({ options: { port: { type: "string" } } });

app.listen(Number(values.port), "127.0.0.1");
