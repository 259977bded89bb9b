//! CPU and run-queue time of the engine's own threads: whether they got the cores that they needed. It reads the
//! threads that it is given, while they live.

use std::fs::File;

use serde::{Deserialize, Serialize};

use super::cpu_clock::thread_ns;
use super::reread::reread;
use super::rise;
use super::schedstat::Used;
use crate::process_tree::Pid;
use crate::record::{ThreadRecord, ThreadWindow};
use crate::spool::Spool;

/// Samples threads of this process, and reads them at both ends of the measured phase.
pub struct Threads {
    threads: Vec<Thread>,
    /// The time since the first instant, and the reading of each thread. All threads share a file, as descriptors may
    /// be few.
    samples: Spool<(u64, Vec<Reading>)>,
}

struct Thread {
    tid: Pid,
    /// It stays open: its path is looked up only once, and it can be read when there are no descriptors left.
    schedstat: Option<File>,
    opened: Option<Reading>,
    window: Option<ThreadWindow>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
struct Reading {
    cpu_ns: Option<u64>,
    run_queue_ns: Option<u64>,
}

impl Threads {
    pub fn new(tids: &[Pid]) -> Self {
        let thread = |&tid: &Pid| Thread {
            tid,
            schedstat: File::open(format!("/proc/self/task/{tid}/schedstat")).ok(),
            opened: None,
            window: None,
        };
        Self { threads: tids.iter().map(thread).collect(), samples: Spool::open() }
    }

    /// Takes a sample as of `at_ns`. The trial began at `began_ns`.
    pub fn sample(&mut self, at_ns: u64, began_ns: u64) {
        let read = self.threads.iter().map(Thread::read).collect();
        self.samples.push(&(at_ns.saturating_sub(began_ns), read));
    }

    /// Reads at the beginning of the measured phase.
    pub fn open(&mut self) {
        for thread in &mut self.threads {
            thread.opened = Some(thread.read());
        }
    }

    /// Reads at the end of the measured phase. A thread that has ended by then has no window.
    pub fn close(&mut self) {
        for thread in &mut self.threads {
            let closed = thread.read();
            thread.window = thread.opened.and_then(|opened| Reading::window(opened, closed));
        }
    }

    pub fn records(self) -> Vec<ThreadRecord> {
        let window = |thread: &Thread| ThreadRecord { window: thread.window, ..ThreadRecord::default() };
        let mut records: Vec<ThreadRecord> = self.threads.iter().map(window).collect();
        for (at_ns, read) in self.samples.rows() {
            for (record, reading) in records.iter_mut().zip(read) {
                record.at_ns.push(at_ns);
                record.cpu_ns.push(reading.cpu_ns);
                record.run_queue_ns.push(reading.run_queue_ns);
            }
        }
        records
    }
}

impl Thread {
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
    fn window(opened: Self, closed: Self) -> Option<ThreadWindow> {
        Some(ThreadWindow {
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
            threads.sample(5_000, 2_000);
            if step == "within" {
                threads.close();
            }
        }
        drop(orders);
        busy.join().unwrap();
        let records = threads.records();
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
        threads.sample(1, 0);
        threads.close();
        let records = threads.records();
        assert_eq!(records[0].cpu_ns, [None]);
        assert_eq!(records[0].run_queue_ns, [None]);
        assert_eq!(records[0].window, None);
    }
}
