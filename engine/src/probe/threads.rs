//! CPU and run-queue time of the engine's own threads: whether they got the cores that they needed. It reads the
//! threads that it is given, while they live.

use std::fs::File;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::continued::Continued;
use super::cpu_clock::thread_ns;
use super::reread::reread;
use super::schedstat::Used;
use super::{rise, sum};
use crate::clock::now_ns;
use crate::process_tree::Pid;
use crate::record::{ThreadRecord, ThreadWindow};
use crate::spool::Spool;
use crate::thinning::{self, FINE};

/// What is read of threads. Any thread of this process may read it.
pub struct ThreadFiles(Vec<ThreadFile>);

struct ThreadFile {
    tid: Pid,
    /// It stays open: its path is looked up only once, and it can be read when there are no descriptors left.
    schedstat: Option<File>,
}

/// One reading of one thread. `None`: it could not be read.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Reading {
    cpu_ns: Option<u64>,
    run_queue_ns: Option<u64>,
}

/// Samples of threads of this process, and what lies between both ends of the measured phase.
pub struct Threads {
    pub files: Arc<ThreadFiles>,
    /// The time since the first instant, and the reading of each thread. All threads share a file, as descriptors may
    /// be few.
    samples: Spool<(u64, Vec<Reading>)>,
    /// Of each thread: CPU time and time in run queues.
    cumulative: Vec<[Continued; 2]>,
    opened: Option<(u64, Vec<Reading>)>,
    /// Over the turns so far; `None`: nothing was measured yet.
    windows: Option<Vec<Option<ThreadWindow>>>,
}

impl ThreadFiles {
    pub fn read(&self) -> Vec<Reading> {
        self.0.iter().map(ThreadFile::read).collect()
    }
}

impl Threads {
    pub fn new(tids: &[Pid]) -> Self {
        let file = |&tid: &Pid| ThreadFile {
            tid,
            schedstat: File::open(format!("/proc/self/task/{tid}/schedstat")).ok(),
        };
        Self {
            files: Arc::new(ThreadFiles(tids.iter().map(file).collect())),
            samples: Spool::open(),
            cumulative: vec![Default::default(); tids.len()],
            opened: None,
            windows: None,
        }
    }

    /// Adds a sample, which is at `at_ns` on the time axis of the record.
    pub fn keep(&mut self, mut read: Vec<Reading>, at_ns: u64) {
        for (reading, [cpu, run_queue]) in read.iter_mut().zip(&mut self.cumulative) {
            reading.cpu_ns = cpu.take_known(reading.cpu_ns);
            reading.run_queue_ns = run_queue.take_known(reading.run_queue_ns);
        }
        self.samples.push(&(at_ns, read));
    }

    /// Ends a turn.
    pub fn resume(&mut self) {
        self.cumulative.iter_mut().flatten().for_each(Continued::resume);
    }

    /// Reads at the beginning of the measured phase.
    pub fn open(&mut self) {
        self.opened = Some((now_ns(), self.files.read()));
    }

    /// Reads at the end of the measured phase. A thread that has ended by then has no window.
    pub fn close(&mut self) {
        let Some((opened_ns, opened)) = self.opened.take() else {
            return;
        };
        let span_ns = now_ns().saturating_sub(opened_ns);
        let both = opened.into_iter().zip(self.files.read());
        let windows = both.map(|(opened, closed)| Reading::window(opened, closed, span_ns));
        self.windows = Some(match self.windows.take() {
            None => windows.collect(),
            Some(before) => {
                before.into_iter().zip(windows).map(|(one, other)| Some(one?.and(other?))).collect()
            }
        });
    }

    /// `interval_ns`: the least time from one sample to the next.
    pub fn records(self, interval_ns: u64) -> Vec<ThreadRecord> {
        let window = |window| ThreadRecord { window, ..ThreadRecord::default() };
        let windows = self.windows.unwrap_or_else(|| vec![None; self.cumulative.len()]);
        let mut records: Vec<ThreadRecord> = windows.into_iter().map(window).collect();
        for (at_ns, read) in thinning::evenly(self.samples.rows(), FINE, |(at_ns, _)| at_ns / interval_ns) {
            for (record, reading) in records.iter_mut().zip(read) {
                record.at_ns.push(at_ns);
                record.cpu_ns.push(reading.cpu_ns);
                record.run_queue_ns.push(reading.run_queue_ns);
            }
        }
        records
    }
}

impl ThreadWindow {
    fn and(self, other: Self) -> Self {
        Self {
            span_ns: self.span_ns + other.span_ns,
            cpu_ns: self.cpu_ns + other.cpu_ns,
            run_queue_ns: sum(self.run_queue_ns, other.run_queue_ns),
        }
    }
}

impl ThreadFile {
    fn read(&self) -> Reading {
        // schedstat has CPU time too, but of a running thread only up to its last tick.
        Reading { cpu_ns: thread_ns(self.tid), run_queue_ns: self.run_queue_ns() }
    }

    fn run_queue_ns(&self) -> Option<u64> {
        let mut buffer = [0; 96];
        Used::parse(reread(self.schedstat.as_ref()?, &mut buffer).ok()?).map(|used| used.run_queue_ns)
    }
}

impl Reading {
    fn window(opened: Self, closed: Self, span_ns: u64) -> Option<ThreadWindow> {
        Some(ThreadWindow {
            span_ns,
            cpu_ns: rise(opened.cpu_ns, closed.cpu_ns)?,
            run_queue_ns: rise(opened.run_queue_ns, closed.run_queue_ns),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    fn own_tid() -> Pid {
        rustix::thread::gettid().as_raw_nonzero().get()
    }

    fn work_for(cpu_ns: u64) {
        let until_ns = thread_ns(own_tid()).unwrap() + cpu_ns;
        while thread_ns(own_tid()).unwrap() < until_ns {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn each_thread_has_its_own_work_and_the_window_only_what_lies_in_it() {
        let (idle, worker) = (own_tid(), mpsc::channel());
        let (orders, at_work) = mpsc::channel::<u64>();
        let busy = thread::spawn(move || {
            worker.0.send(own_tid()).unwrap();
            while let Ok(cpu_ns) = at_work.recv() {
                work_for(cpu_ns);
                worker.0.send(0).unwrap();
            }
        });
        let mut threads = Threads::new(&[worker.1.recv().unwrap(), idle]);
        for (cpu_ns, step) in [(30_000_000, "before"), (20_000_000, "within"), (40_000_000, "after")] {
            if step == "within" {
                threads.open();
            }
            orders.send(cpu_ns).unwrap();
            worker.1.recv().unwrap();
            threads.keep(threads.files.read(), 3_000);
            if step == "within" {
                threads.close();
            }
        }
        drop(orders);
        busy.join().unwrap();
        let records = threads.records(1_000);
        let (busy, idle) = (&records[0], &records[1]);
        assert_eq!(busy.at_ns, [3_000; 3]);
        let cpu_ns: Vec<u64> = busy.cpu_ns.iter().map(|ns| ns.unwrap()).collect();
        assert!(cpu_ns[0] >= 30_000_000 && cpu_ns[1] - cpu_ns[0] >= 20_000_000, "{cpu_ns:?}");
        let window = busy.window.unwrap();
        assert!((20_000_000..30_000_000).contains(&window.cpu_ns), "{window:?}");
        assert!(idle.window.unwrap().cpu_ns < 10_000_000, "{:?}", idle.window);
    }

    #[test]
    fn a_thread_that_has_ended_has_no_window() {
        let (told, tid) = mpsc::channel();
        let (release, wait) = mpsc::channel::<()>();
        let thread = thread::spawn(move || {
            told.send(own_tid()).unwrap();
            let _ = wait.recv();
        });
        let mut threads = Threads::new(&[tid.recv().unwrap()]);
        threads.open();
        drop(release);
        thread.join().unwrap();
        threads.keep(threads.files.read(), 1);
        threads.close();
        let records = threads.records(1_000);
        assert_eq!(records[0].cpu_ns, [None]);
        assert_eq!(records[0].run_queue_ns, [None]);
        assert_eq!(records[0].window, None);
    }
}
