// Writes an export, compressed and flushed to the disk, again and again with a short pause: node export.js FOLDER
import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, openSync, unlinkSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";

process.on("disconnect", () => process.exit());
const rows = randomBytes(1 << 20).toString("base64");
for (let i = 0; ; i++) {
  const name = `${process.argv[2]}/export-${i}`;
  const file = openSync(name, "w");
  for (let part = 0; part < 4; part++) {
    writeSync(file, gzipSync(rows));
    fsyncSync(file);
  }
  closeSync(file);
  unlinkSync(name);
  await sleep(20);
}
