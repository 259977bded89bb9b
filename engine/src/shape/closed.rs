//! The closed shape: so many connections, and on each the next request when the last is answered.

use super::pause::Pause;
use super::ramp::Ramp;

/// `connections` users who wait for each answer, and then pause, before they ask again.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    pub connections: usize,
    pub pause: Pause,
    /// How they come, where they do not all come at once.
    pub ramp: Option<Ramp>,
}

impl Closed {
    /// How long after the beginning of the phase user `user` (from 0, over all threads) sends its
    /// first request, in nanoseconds.
    pub fn sets_out_after_ns(&self, user: usize) -> u64 {
        self.ramp.map_or(0, |ramp| ramp.sets_out_after_ns(user))
    }
}

/// The share of `connections` that thread `thread` of `threads` holds: those whose number leaves
/// `thread` when divided by `threads`.
pub fn share(connections: usize, thread: usize, threads: usize) -> usize {
    connections / threads + usize::from(thread < connections % threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_differ_by_at_most_one() {
        for connections in 0..70 {
            for threads in 1..9 {
                let shares: Vec<_> = (0..threads).map(|thread| share(connections, thread, threads)).collect();
                assert_eq!(shares.iter().sum::<usize>(), connections);
                assert!(shares.iter().max().unwrap() - shares.iter().min().unwrap() <= 1);
                for (thread, &held) in shares.iter().enumerate() {
                    assert_eq!(held, (0..connections).filter(|user| user % threads == thread).count());
                }
            }
        }
    }

    #[test]
    fn without_a_ramp_all_set_out_at_once() {
        let shape = Closed { connections: 9, pause: Pause::Fixed { ns: 0 }, ramp: None };
        assert!((0..9).all(|user| shape.sets_out_after_ns(user) == 0));
    }
}
