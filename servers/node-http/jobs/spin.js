// CPU work of a given length: a plain arithmetic loop, and how many of its rounds this processor does per microsecond.
// That is found out as this module is loaded, unless a parent process has done so and says it in ROUNDS_PER_US.

const PIECE_ROUNDS = 250_000;
const WARM_UP_PIECES = 80;
const CALIBRATION_MS = 200;

// Kept outside the loop, so that no compiler may leave it out.
let state = 1;

// Also where the number is known: a loop that has not been compiled is many times slower.
for (let piece = 0; piece < WARM_UP_PIECES; piece += 1) {
  measuredRoundsPerUs();
}

export const roundsPerUs =
  Number(process.env.ROUNDS_PER_US) || calibratedRoundsPerUs();

export function spin(us) {
  turn(us, roundsPerUs);
}

// The best of many short pieces: whatever else the machine does can only make one slower.
function calibratedRoundsPerUs() {
  const until = performance.now() + CALIBRATION_MS;
  let best = 0;
  while (performance.now() < until) {
    best = Math.max(best, measuredRoundsPerUs());
  }
  return Math.round(best);
}

function measuredRoundsPerUs() {
  const rounds = 500;
  const began = performance.now();
  turn(PIECE_ROUNDS / rounds, rounds);
  return PIECE_ROUNDS / ((performance.now() - began) * 1_000);
}

// In two loops, because neither count may outgrow the small integers V8 is fast with.
function turn(times, rounds) {
  let x = state;
  for (let time = 0; time < times; time += 1) {
    for (let round = 0; round < rounds; round += 1) {
      x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0;
    }
  }
  state = x;
}
