// The workload file: a string of random characters, written to a new file, read back, and the file removed.
// Files go through the forms with a callback, which Node's documentation prefers where time and memory count.
import { randomBytes, randomUUID } from "node:crypto";
import { readFile, unlink, writeFile } from "node:fs";
import { join } from "node:path";

const LENGTH = 108_000;
const LOWEST = 65;
const CODES = 57;

export function writtenAndRead(fill, done) {
  if (fill === "bulk") {
    allAtOnce((error, content) => {
      if (error) {
        done(error);
      } else {
        throughNewFile(content, done);
      }
    });
  } else {
    throughNewFile(oneByOne(), done);
  }
}

function throughNewFile(content, done) {
  const path = join(process.env.FILES_FOLDER, randomUUID());
  const removed = (error, read) => {
    // There may be no file to remove; the error to tell is the first.
    unlink(path, (notRemoved) => done(error ?? notRemoved, read));
  };
  writeFile(path, content, { flag: "wx" }, (error) => {
    if (error) {
      removed(error);
    } else {
      readFile(path, removed);
    }
  });
}

function oneByOne() {
  let content = "";
  for (let length = 0; length < LENGTH; length += 1) {
    content += String.fromCharCode(Math.floor(Math.random() * CODES) + LOWEST);
  }
  return content;
}

function allAtOnce(done) {
  // The form without a callback would hold up the loop.
  randomBytes(LENGTH, (error, content) => {
    if (error) {
      done(error);
      return;
    }
    for (let at = 0; at < LENGTH; at += 1) {
      content[at] = (content[at] % CODES) + LOWEST;
    }
    done(null, content);
  });
}
