// The workload mix: a wait, then work in the event loop, then letters.
import { setTimeout as sleep } from "node:timers/promises";

import { spin } from "./spin.js";

const ALPHABET = "abcdefghijklmnopqrstuvwxyz";

export async function mixOf(waitMs, spinUs, bytes) {
  if (waitMs > 0) {
    await sleep(waitMs);
  }
  spin(spinUs);
  return ALPHABET.repeat(Math.ceil(bytes / ALPHABET.length)).slice(0, bytes);
}
