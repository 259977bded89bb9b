// The workload hash: SHA-256 of a file, again and again, in the event loop.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

export async function digestAfter(rounds) {
  const file = await readFile(process.env.HASH_FILE);
  let digest = createHash("sha256").update(file).digest();
  for (let round = 1; round < rounds; round += 1) {
    digest = createHash("sha256").update(file).update(digest).digest();
  }
  return digest.toString("hex");
}
