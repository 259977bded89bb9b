//! How fast the server's cores are while measured: a fixed piece of work is done on each of them at random times, and its
//! CPU time is read. It has a thread of its own, as it goes from core to core.

use std::sync::mpsc::Receiver;

use crate::clock::now_ns;
use crate::cores;
use crate::phase::Course;
use crate::plan::Plan;
use crate::probe::own_cpu_ns;
use crate::probe::reference::Reference;
use crate::random;
use crate::record::SpeedRecord;
use crate::wakes::{Wakes, Woken};

/// A core does the work once in this time on average, which takes 1 to 2 % of it.
const EACH_CORE_NS: u64 = 5_000_000;
/// With many cores, the thread rests at least this long on average.
const REST_NS: u64 = 1_000_000;

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100c_0005;

pub struct SpeedWatch {
    cores: Vec<usize>,
    reference: Reference,
    random: rand_xoshiro::Xoshiro256PlusPlus,
    gap_ns: u64,
    wakes: Wakes,
    readings: u64,
    /// Sum over readings of pieces of work for a second of CPU time.
    per_s: f64,
    cost_ns: u64,
}

impl SpeedWatch {
    /// `cores` is not empty.
    pub fn open(plan: &Plan, cores: Vec<usize>) -> Self {
        let gap_ns = (EACH_CORE_NS / cores.len() as u64).max(REST_NS);
        Self {
            cores,
            reference: Reference::new(),
            random: random::seeded(plan.seed, WHEN_PURPOSE),
            gap_ns,
            wakes: Wakes::default(),
            readings: 0,
            per_s: 0.0,
            cost_ns: 0,
        }
    }

    /// Reads until the trial is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        let mut turn = 0;
        loop {
            // From half of the gap to one and a half, so that no rhythm of the server's is met.
            let gap_ns = self.gap_ns as f64 * (0.5 + random::uniform(&mut self.random));
            let due_ns = now_ns() + gap_ns as u64;
            loop {
                match self.wakes.wait(due_ns, course, ended) {
                    Woken::Measuring => {}
                    Woken::Due => break,
                    Woken::Over => return self,
                }
            }
            if self.wakes.is_measuring() {
                self.take(turn);
                turn += 1;
            }
        }
    }

    fn take(&mut self, turn: usize) {
        let began_ns = own_cpu_ns();
        // A core that was taken away since the trial began is left out.
        if cores::pin_current_thread(&[self.cores[turn % self.cores.len()]]).is_ok() {
            let before_ns = own_cpu_ns();
            self.reference.work();
            let took_ns = own_cpu_ns() - before_ns;
            self.readings += 1;
            self.per_s += 1e9 / took_ns.max(1) as f64;
        }
        self.cost_ns += own_cpu_ns() - began_ns;
    }

    pub fn record(self) -> SpeedRecord {
        let mean = (self.readings > 0).then(|| self.per_s / self.readings as f64);
        SpeedRecord { readings: self.readings, mean_per_s: mean, cost_ns: self.cost_ns, why: None }
    }
}

impl SpeedRecord {
    /// Nothing was read; `why` not.
    pub fn unread(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phase::Stop;
    use crate::spec::TrialSpec;
    use std::sync::mpsc;

    fn plan() -> Plan {
        let spec = include_str!("../../contract/golden/spec.json");
        serde_json::from_str::<TrialSpec>(spec).unwrap().plan().unwrap()
    }

    fn course(warm_up_ns: u64, measured_ns: u64) -> Course {
        let stop = |within_ns| Stop { requests: None, within_ns };
        let course = Course::new(Some(stop(warm_up_ns)), stop(measured_ns));
        course.begin(now_ns());
        course
    }

    #[test]
    fn it_reads_while_measured_alone() {
        let (plan, (_open, ended)) = (plan(), mpsc::channel());
        let course = course(100_000_000, 100_000_000);
        let record = SpeedWatch::open(&plan, vec![0]).run(&course, &ended).record();
        let mean = record.mean_per_s.unwrap();
        assert!((5..=40).contains(&record.readings), "{} readings in 0.1 s", record.readings);
        assert!((1_000.0..1_000_000.0).contains(&mean), "{mean} pieces/s");
        assert!(record.cost_ns as f64 >= record.readings as f64 / mean * 1e9 * 0.5);
    }

    #[test]
    fn of_a_core_that_is_not_there_nothing_is_read() {
        let (plan, (_open, ended)) = (plan(), mpsc::channel());
        let record = SpeedWatch::open(&plan, vec![1_023]).run(&course(0, 30_000_000), &ended).record();
        assert_eq!((record.readings, record.mean_per_s), (0, None));
    }

    #[test]
    fn a_second_core_is_read_as_often_as_the_first() {
        let watch = |cores: usize| SpeedWatch::open(&plan(), (0..cores).collect()).gap_ns;
        assert_eq!((watch(1), watch(2), watch(64)), (5_000_000, 2_500_000, 1_000_000));
    }
}
