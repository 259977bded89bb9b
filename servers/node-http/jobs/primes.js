// The workload primes: a sieve of Eratosthenes, in the event loop.

export function primesBelow(bound) {
  const composite = new Uint8Array(bound);
  const primes = [];
  for (let candidate = 2; candidate < bound; candidate += 1) {
    if (composite[candidate]) {
      continue;
    }
    primes.push(candidate);
    for (
      let multiple = candidate * candidate;
      multiple < bound;
      multiple += candidate
    ) {
      composite[multiple] = 1;
    }
  }
  return primes;
}
