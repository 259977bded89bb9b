//! The threads that read processes beside the load, for the one that keeps what they read (`watches.rs`).

use crate::cores;
use crate::failure::Failure;
use crate::jobs::Jobs;
use crate::plan::Plan;
use crate::spec::Pacing;

pub struct Readers {
    /// Reads rows. Due requests must not wait for it, so it may be at idle priority.
    pub aside: Jobs,
    /// Is at normal priority. It reads memory, and what takes long at the beginning of the measured phase.
    pub reader: Jobs,
    /// Whether requests are due while it reads, so that it has to rest.
    pub must_rest: bool,
}

impl Readers {
    /// Starts the threads on a machine where nothing is due: the load comes from another one.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub fn without_load() -> Result<Self, Failure> {
        let begin = |name| Jobs::begin(name, || {});
        Ok(Self { aside: begin("aside")?, reader: begin("reader")?, must_rest: false })
    }

    /// Starts the threads beside the load of this plan.
    ///
    /// # Errors
    /// If one of them cannot be started.
    pub fn beside(plan: &Plan) -> Result<Self, Failure> {
        let (pacing, is_open) = (plan.pacing, plan.shape.is_open());
        let (cores, same_cores) = (plan.cores.clone(), plan.cores.clone());
        Ok(Self {
            aside: Jobs::begin("aside", move || step_aside(pacing, is_open, &cores))?,
            reader: Jobs::begin("reader", move || cores::keep_clear(pacing, &same_cores))?,
            must_rest: is_open && pacing == Pacing::Sleep,
        })
    }
}

/// Sets where the calling thread runs, which reads rows of samples: due requests must not wait for it.
fn step_aside(pacing: Pacing, is_open: bool, cores: &[usize]) {
    match pacing {
        // A thread that never sleeps leaves nothing of its core.
        Pacing::Spin => cores::keep_off(cores),
        Pacing::Sleep if is_open => cores::step_aside(),
        // Requests of a closed load can wait for this thread. At idle priority it might get no core at all.
        Pacing::Sleep => {}
    }
}
