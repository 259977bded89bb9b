// The workload file: a string of random characters, written to a new file, read back, and the file removed.
import { randomBytes, randomUUID } from "node:crypto";
import { readFile, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const LENGTH = 108_000;
const LOWEST = 65;
const CODES = 57;

// The form without a callback would hold up the loop.
const randomBytesLater = promisify(randomBytes);

export async function writtenAndRead(fill) {
  const content = fill === "bulk" ? await allAtOnce() : oneByOne();
  const path = join(process.env.FILES_FOLDER, randomUUID());
  let read;
  try {
    await writeFile(path, content, { flag: "wx" });
    read = await readFile(path);
  } catch (error) {
    // There may be no file to remove; the error to tell is the first.
    await unlink(path).catch(() => {});
    throw error;
  }
  await unlink(path);
  return read;
}

function oneByOne() {
  let content = "";
  for (let length = 0; length < LENGTH; length += 1) {
    content += String.fromCharCode(Math.floor(Math.random() * CODES) + LOWEST);
  }
  return content;
}

async function allAtOnce() {
  const content = await randomBytesLater(LENGTH);
  for (let at = 0; at < LENGTH; at += 1) {
    content[at] = (content[at] % CODES) + LOWEST;
  }
  return content;
}
