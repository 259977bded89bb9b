// The workload hash: SHA-256 of a file, again and again, in the event loop.
// The file is read by the form with a callback, which Node's documentation prefers where time and memory count.
import { createHash } from "node:crypto";
import { readFile } from "node:fs";

export function digestAfter(rounds, done) {
  readFile(process.env.HASH_FILE, (error, file) => {
    if (error) {
      done(error);
    } else {
      done(null, digestOf(file, rounds));
    }
  });
}

function digestOf(file, rounds) {
  let digest = createHash("sha256").update(file).digest();
  for (let round = 1; round < rounds; round += 1) {
    digest = createHash("sha256").update(file).update(digest).digest();
  }
  return digest.toString("hex");
}
