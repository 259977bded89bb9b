// CPU work of a given length: a plain arithmetic loop that ends by the clock of CPU time.

// Between two looks at the clock: some 20 µs.
const PIECE_ROUNDS = 20_000;

// Before Node 22.16 there is only the clock of the process. While the loop turns, its other threads have nothing to do.
const cpuUsage = process.threadCpuUsage ?? process.cpuUsage;

// Kept outside the loop, so that no compiler may leave it out.
let state = 1;

export function spin(us) {
  const until = cpuUs() + us;
  while (cpuUs() < until) {
    turn();
  }
}

function cpuUs() {
  const { user, system } = cpuUsage.call(process);
  return user + system;
}

function turn() {
  let x = state;
  for (let round = 0; round < PIECE_ROUNDS; round += 1) {
    x = (Math.imul(x, 1_664_525) + 1_013_904_223) | 0;
  }
  state = x;
}
