// Serves an application from this one process; cluster.js is the way to several.
import { loadApp } from "./command-line.js";
import { listen } from "./listen.js";

listen(await loadApp());
