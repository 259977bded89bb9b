//! The workload primes: a sieve of Eratosthenes, in the event loop.

pub fn below(bound: usize) -> Vec<usize> {
    let mut composite = vec![false; bound];
    let mut primes = Vec::new();
    for candidate in 2..bound {
        if composite[candidate] {
            continue;
        }
        primes.push(candidate);
        for multiple in (candidate * candidate..bound).step_by(candidate) {
            composite[multiple] = true;
        }
    }
    primes
}
