// A worker has no clock of its own CPU time in Node 18 to 22: a "millisecond" is this many rounds, on any machine.
const ROUNDS = 500_000;

export default function compute(ms) {
  let x = 1;
  for (let i = 0; i < ms * ROUNDS; i++) x = (Math.imul(x, 1103515245) + 12345) & 0x7fffffff;
  return String(x);
}
