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
/// At a rate, a request that meets a reading waits for it, so readings are fewer there.
const EACH_CORE_AT_A_RATE_NS: u64 = 20_000_000;
/// With many cores, the thread rests at least this long on average.
const REST_NS: u64 = 1_000_000;

/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const WHEN_PURPOSE: u64 = 0x100c_0005;

pub struct SpeedWatch {
    cores: Vec<usize>,
    reference: Reference,
    random: rand_xoshiro::Xoshiro256PlusPlus,
    gap_ns: u64,
    /// Whether this thread runs on the core that is to be read.
    is_there: bool,
    wakes: Wakes,
    readings: u64,
    /// Sum over readings of pieces of work for a second of CPU time.
    per_s: f64,
    cost_ns: u64,
}

impl SpeedWatch {
    /// `cores` is not empty.
    pub fn open(plan: &Plan, cores: Vec<usize>) -> Self {
        let each_core_ns = if plan.shape.is_open() { EACH_CORE_AT_A_RATE_NS } else { EACH_CORE_NS };
        let gap_ns = (each_core_ns / cores.len() as u64).max(REST_NS);
        Self {
            cores,
            reference: Reference::new(),
            random: random::seeded(plan.seed, WHEN_PURPOSE),
            gap_ns,
            is_there: false,
            wakes: Wakes::default(),
            readings: 0,
            per_s: 0.0,
            cost_ns: 0,
        }
    }

    /// Reads until the trial, or its present turn, is over or `ended` is closed. `course` must have begun.
    pub fn run(mut self, course: &Course, ended: &Receiver<()>) -> Self {
        self.wakes = Wakes::default();
        let mut turn = 0;
        self.go_to(turn);
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
                self.take();
                turn += 1;
                self.go_to(turn);
            }
        }
    }

    /// Binds this thread to the next core before it sleeps: it would wake up on the last one, and stop the server there.
    fn go_to(&mut self, turn: usize) {
        // A core that was taken away since the trial began is left out.
        self.is_there = cores::pin_current_thread(&[self.cores[turn % self.cores.len()]]).is_ok();
    }

    fn take(&mut self) {
        let began_ns = own_cpu_ns();
        if self.is_there {
            self.reference.warm_up();
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
    use crate::spec::{Arrivals, PauseKind, RateSpec, ShapeSpec, TrialSpec};
    use crate::tried::until_shown;
    use std::sync::mpsc;

    fn plan(shape: ShapeSpec) -> Plan {
        let spec = include_str!("../../contract/golden/spec.json");
        let spec: TrialSpec = serde_json::from_str(spec).unwrap();
        TrialSpec { shape, warm_up: None, ..spec }.plan().unwrap()
    }

    fn closed() -> ShapeSpec {
        ShapeSpec::Closed { connections: 4, pause_ms: 0.0, pause: PauseKind::Fixed }
    }

    fn at_a_rate() -> ShapeSpec {
        let rate = RateSpec { from_per_s: 10.0, to_per_s: 10.0, duration_s: 1.0 };
        ShapeSpec::Open { connections: 4, arrivals: Arrivals::Even, rates: vec![rate] }
    }

    #[test]
    fn it_reads_while_measured_alone() {
        let (plan, (_open, ended)) = (plan(closed()), mpsc::channel());
        until_shown(|| {
            let course = Course::begun(100_000_000, 100_000_000);
            let record = SpeedWatch::open(&plan, vec![0]).run(&course, &ended).record();
            assert!(record.readings <= 40, "{} readings in 0.1 s", record.readings);
            // Others may have the core meanwhile.
            let Some(mean) = record.mean_per_s.filter(|_| record.readings >= 5) else {
                return Err(format!("{} readings in 0.1 s", record.readings));
            };
            assert!((1_000.0..1_000_000.0).contains(&mean), "{mean} pieces/s");
            assert!(record.cost_ns as f64 >= record.readings as f64 / mean * 1e9 * 0.5);
            Ok(())
        });
    }

    #[test]
    fn of_a_core_that_is_not_there_nothing_is_read() {
        let (plan, (_open, ended)) = (plan(closed()), mpsc::channel());
        let record = SpeedWatch::open(&plan, vec![1_023]).run(&Course::begun(0, 30_000_000), &ended).record();
        assert_eq!((record.readings, record.mean_per_s), (0, None));
    }

    #[test]
    fn two_cores_are_read_twice_as_often_as_one_and_at_a_rate_each_is_read_less_often() {
        let gap_ns = |cores: usize, shape| SpeedWatch::open(&plan(shape), (0..cores).collect()).gap_ns;
        assert_eq!(gap_ns(1, closed()), 2 * gap_ns(2, closed()));
        assert_eq!(gap_ns(1, at_a_rate()), 4 * gap_ns(1, closed()));
        // Of many cores each is read less often, so that the thread rests.
        assert_eq!(gap_ns(64, closed()), gap_ns(65, closed()));
    }
}
