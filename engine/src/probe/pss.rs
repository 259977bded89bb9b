//! The proportional memory (PSS) of processes, from `/proc/PID/smaps_rollup` (proc(5)).
//!
//! While the kernel adds it up, it holds the lock of the process's address space: each thread of that process that maps
//! memory waits until the reader is done. A reader that gets no core stops the server with it. So a thread of its own
//! reads, at normal priority, whatever the priority of the thread that asks.

use std::fs;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use super::{field, has_ended, own_cpu_ns};
use crate::failure::Failure;
use crate::process_tree::Pid;

pub struct PssReader {
    asks: Sender<Vec<Pid>>,
    answers: Receiver<Answer>,
    /// The CPU time of all readings.
    cpu_ns: u64,
}

struct Answer {
    read: Result<Option<u64>, String>,
    cpu_ns: u64,
}

impl PssReader {
    /// Starts the thread that reads. It has the priority and the cores of the calling thread, and first calls `settle`,
    /// which may choose others. It ends when the reader is dropped.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn begin(settle: impl FnOnce() + Send + 'static) -> Result<Self, Failure> {
        let (asks, asked) = mpsc::channel::<Vec<Pid>>();
        let (answering, answers) = mpsc::channel();
        thread::Builder::new()
            .name("memory".into())
            .spawn(move || {
                settle();
                for pids in asked {
                    let began_ns = own_cpu_ns();
                    let read = read(&pids);
                    if answering.send(Answer { read, cpu_ns: own_cpu_ns() - began_ns }).is_err() {
                        return;
                    }
                }
            })
            .map_err(Failure::thread)?;
        Ok(Self { asks, answers, cpu_ns: 0 })
    }

    /// Returns the sum over the processes that are there, in bytes, or `None` if none of them is.
    ///
    /// # Errors
    /// Why it could not be read.
    pub fn read(&mut self, pids: &[Pid]) -> Result<Option<u64>, String> {
        const ENDED: &str = "the thread that reads it has ended";
        self.asks.send(pids.to_vec()).map_err(|_| ENDED)?;
        let answer = self.answers.recv().map_err(|_| ENDED)?;
        self.cpu_ns += answer.cpu_ns;
        answer.read
    }

    /// Returns the CPU time of all readings so far. It is not in that of the threads that asked.
    pub fn cpu_ns(&self) -> u64 {
        self.cpu_ns
    }
}

fn read(pids: &[Pid]) -> Result<Option<u64>, String> {
    let mut total = None;
    for pid in pids {
        match fs::read(format!("/proc/{pid}/smaps_rollup")) {
            Ok(text) => *total.get_or_insert(0) += field(&text, "Pss:").unwrap_or(0) * 1024,
            Err(error) if has_ended(&error) => {}
            Err(error) => return Err(format!("smaps_rollup: {error}")),
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores;

    #[test]
    fn who_asks_at_idle_priority_is_answered_by_a_thread_that_is_not() {
        let (tell, told) = mpsc::channel();
        let mut reader = PssReader::begin(move || {
            tell.send(rustix::thread::gettid()).unwrap();
        })
        .unwrap();
        let reads = told.recv().unwrap().as_raw_nonzero().get();
        // SAFETY: the call takes a number and returns one.
        let policy = |thread| unsafe { libc::sched_getscheduler(thread) };
        thread::spawn(move || {
            cores::step_aside();
            assert_eq!(policy(0), libc::SCHED_IDLE);
            assert!(reader.read(&[std::process::id() as Pid]).unwrap().unwrap() > 0);
            assert!(reader.cpu_ns() > 0);
            assert_eq!(policy(reads), libc::SCHED_OTHER);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_process_that_ended_has_no_memory() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut reader = PssReader::begin(|| {}).unwrap();
        assert_eq!(reader.read(&[child.id() as Pid]), Ok(None));
    }
}
