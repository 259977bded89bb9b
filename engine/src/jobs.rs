//! A thread that does one job after the other for others. Who gives a job goes on, and looks later whether it is done.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use crate::failure::Failure;

/// Where to give jobs. The thread ends when nobody can give it another one.
#[derive(Clone)]
pub struct Jobs(Sender<Box<dyn FnOnce() + Send>>);

/// A job that was given. What it comes to can be taken once.
pub struct Job<T>(Arc<OnceLock<Mutex<Option<T>>>>);

impl Jobs {
    /// Starts the thread. It has the priority and the cores of the calling thread, and first calls `settle`, which may
    /// choose others.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn begin(name: &str, settle: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        let (jobs, given) = mpsc::channel::<Box<dyn FnOnce() + Send>>();
        thread::Builder::new()
            .name(name.into())
            .spawn(move || {
                settle();
                given.into_iter().for_each(|job| job());
            })
            .map_err(Failure::thread)?;
        Ok(Self(jobs))
    }

    /// Gives the thread a job to do after those that it has.
    pub fn give<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Job<T> {
        let slot = Arc::new(OnceLock::new());
        let done = Arc::clone(&slot);
        // The thread outlives this end of the channel.
        let _ = self.0.send(Box::new(move || {
            let _ = done.set(Mutex::new(Some(job())));
        }));
        Job(slot)
    }
}

impl<T> Job<T> {
    /// Returns what the job came to, if it is done. This never waits, also if the thread has no core.
    pub fn taken(&self) -> Option<T> {
        self.0.get().and_then(Self::out_of)
    }

    /// Waits until the job is done. Not for jobs of a thread at idle priority.
    pub fn wait(&self) -> Option<T> {
        Self::out_of(self.0.wait())
    }

    fn out_of(slot: &Mutex<Option<T>>) -> Option<T> {
        slot.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn what_a_job_comes_to_can_be_taken_once_and_jobs_are_done_in_turn() {
        let jobs = Jobs::begin("jobs", || {}).unwrap();
        let (order, seen) = mpsc::channel();
        let given: Vec<Job<u32>> = (0..10)
            .map(|number| {
                let order = order.clone();
                jobs.give(move || {
                    order.send(number).unwrap();
                    10 * number
                })
            })
            .collect();
        assert_eq!(given[9].wait(), Some(90));
        assert_eq!(
            given.iter().map(Job::taken).collect::<Vec<_>>()[..9],
            (0..9).map(|each| Some(10 * each)).collect::<Vec<_>>()
        );
        assert_eq!((given[3].taken(), given[9].wait()), (None, None));
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn who_looks_does_not_wait_for_a_thread_that_stands_still() {
        let jobs = Jobs::begin("jobs", || thread::sleep(Duration::from_secs(3_600))).unwrap();
        let began = Instant::now();
        let given = jobs.give(|| 5);
        assert_eq!(given.taken(), None);
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
