//! The probes of one trial on the trial's clock: when to sample, and what the samples come to.

use crate::phase::Course;
use crate::probe::processes::{Processes, Sample};
use crate::process_tree::Pid;
use crate::record::{ProcessRecord, SampleColumns, Unread, Window};

/// Samples one process tree every interval, and at both ends of the measured phase.
pub struct Watch {
    probe: Processes,
    samples: Vec<Sample>,
    /// The samples that open and close the measured phase, by position.
    opened: Option<usize>,
    closed: Option<usize>,
}

impl Watch {
    pub fn new(root: Pid) -> Self {
        Self { probe: Processes::new(root), samples: Vec::new(), opened: None, closed: None }
    }

    /// Takes the sample that was due at `due_ns`.
    pub fn sample(&mut self, due_ns: u64) {
        self.samples.push(self.probe.sample(due_ns, false));
    }

    /// Takes a full sample where the measured phase begins.
    pub fn open(&mut self, due_ns: u64) {
        self.samples.push(self.probe.sample(due_ns, true));
        self.opened = Some(self.samples.len() - 1);
    }

    /// Takes a full sample where the measured phase ends.
    pub fn close(&mut self, due_ns: u64) {
        self.samples.push(self.probe.sample(due_ns, true));
        self.closed = Some(self.samples.len() - 1);
    }

    pub fn record(&self, course: &Course) -> ProcessRecord {
        let mut samples = SampleColumns::default();
        for sample in &self.samples {
            samples.push(sample, course.began_ns);
        }
        let window = match (self.opened, self.closed) {
            (Some(opened), Some(closed)) => Window::over(&self.samples[opened..=closed]),
            _ => None,
        };
        let unread =
            self.probe.unread().map(|(field, why)| Unread { field: field.into(), why: why.into() }).collect();
        ProcessRecord { samples, window, unread }
    }
}
