//! The closed shape: so many connections, and on each the next request when the last is answered.

/// `connections` users who wait for each answer, and then `pause_ns`, before they ask again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    pub connections: usize,
    pub pause_ns: u64,
}

impl Closed {
    /// When a connection whose request ended at `ended_ns` owes its next one.
    #[inline]
    pub fn next_due_ns(&self, ended_ns: u64) -> u64 {
        ended_ns + self.pause_ns
    }

    /// The share of `connections` that thread `thread` of `threads` holds; the first ones take the
    /// remainder.
    pub fn share(connections: usize, thread: usize, threads: usize) -> usize {
        connections / threads + usize::from(thread < connections % threads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        for connections in 0..70 {
            for threads in 1..9 {
                let shares: Vec<_> =
                    (0..threads).map(|thread| Closed::share(connections, thread, threads)).collect();
                assert_eq!(shares.iter().sum::<usize>(), connections);
                assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn the_pause_follows_the_answer() {
        let shape = Closed { connections: 1, pause_ns: 5 };
        assert_eq!(shape.next_due_ns(37), 42);
    }
}
