//! How often the probes may read. All of them together take at most half a percent of the time, so that sampling does
//! not slow down a server with thousands of threads or processes. Pure: time and cost are passed in.

/// After a reading, 200 times its duration goes by: half a percent.
const REST: u64 = 200;
/// Readings may be ahead of the pace by this much, so that those that are due at once need not wait for one another.
const CREDIT_NS: u64 = 100_000_000;

/// The pace of all readings of a trial. Rows (the CPU and memory of each process) come first and take at most half of
/// it. More expensive readings take what the rows leave.
#[derive(Clone, Copy, Default)]
pub struct Pace {
    row_from_ns: u64,
    paid_until_ns: u64,
}

impl Pace {
    /// Returns whether a row of samples may be taken.
    pub fn allows_row(&self, now_ns: u64) -> bool {
        now_ns >= self.row_from_ns
    }

    /// Returns whether one of the more expensive readings may be taken.
    pub fn allows_more(&self, now_ns: u64) -> bool {
        now_ns + CREDIT_NS >= self.paid_until_ns
    }

    /// Accounts for a row that took `cost_ns`.
    pub fn spent_on_row(&mut self, now_ns: u64, cost_ns: u64) {
        self.row_from_ns = now_ns + 2 * REST * cost_ns;
        self.spent(now_ns, cost_ns);
    }

    /// Accounts for a reading that took `cost_ns`.
    pub fn spent(&mut self, now_ns: u64, cost_ns: u64) {
        self.paid_until_ns = self.paid_until_ns.max(now_ns) + REST * cost_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK_NS: u64 = 100_000_000;

    /// Plays this many ticks. A row costs `row_ns`, and each of the other readings its part of `dear_ns`; the one
    /// that was not read for longest comes first. Returns the number of rows, the number of each of the other
    /// readings, and the share of the time that all of it takes.
    fn play(ticks: u64, row_ns: u64, dear_ns: &[u64]) -> (u64, Vec<u64>, f64) {
        let mut pace = Pace::default();
        let (mut rows, mut reads, mut last, mut cost_ns) =
            (0, vec![0; dear_ns.len()], vec![0; dear_ns.len()], 0);
        for tick in 1..=ticks {
            let mut now_ns = tick * TICK_NS;
            if !pace.allows_row(now_ns) {
                continue;
            }
            now_ns += row_ns;
            cost_ns += row_ns;
            rows += 1;
            let mut order: Vec<usize> = (0..dear_ns.len()).collect();
            order.sort_by_key(|&kind| last[kind]);
            for kind in order {
                if pace.allows_more(now_ns) {
                    now_ns += dear_ns[kind];
                    cost_ns += dear_ns[kind];
                    pace.spent(now_ns, dear_ns[kind]);
                    reads[kind] += 1;
                    last[kind] = now_ns;
                }
            }
            pace.spent_on_row(now_ns, row_ns);
        }
        (rows, reads, cost_ns as f64 / (ticks * TICK_NS) as f64)
    }

    #[test]
    fn what_is_cheap_is_read_every_time() {
        let (rows, reads, share) = play(1_000, 20_000, &[30_000; 6]);
        assert_eq!((rows, reads), (1_000, vec![1_000; 6]));
        assert!(share < 0.005, "{share}");
    }

    #[test]
    fn all_readings_together_keep_to_half_a_percent() {
        // 256 processes; a virtual machine with much memory; 5,000 threads; all of them at once.
        let cases: [(u64, &[u64]); 4] = [
            (3_000_000, &[2_000_000, 9_000_000, 4_000_000]),
            (40_000, &[20_000, 5_000_000, 600_000, 20_000, 100_000, 50_000]),
            (60_000, &[40_000_000, 200_000, 60_000_000]),
            (3_000_000, &[40_000_000, 30_000_000, 60_000_000]),
        ];
        for (row_ns, dear_ns) in cases {
            let (rows, reads, share) = play(36_000, row_ns, dear_ns);
            // The rest after the last reading is not over, so what that one took is allowed besides.
            assert!(share <= 0.005 + 0.000_05, "{share} for {row_ns} and {dear_ns:?}");
            assert!(rows >= 2_500 && reads.iter().all(|&each| each >= 50), "{rows} {reads:?}");
        }
    }

    #[test]
    fn of_what_is_dear_each_has_its_turn() {
        let reads = play(36_000, 40_000, &[20_000_000, 5_000_000, 600_000, 20_000, 100_000, 50_000]).1;
        assert!(reads.iter().all(|&each| each >= 100), "{reads:?}");
    }
}
