//! A process whose threads do what a test says: the program of the tests once more, which plays a server.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::process_tree::{self, Pid};

/// It answers every order with this line.
const DONE: &str = "!done";
/// Only where this is set a program of tests plays.
const PLAYS: &str = "CRUMPLE_TEST_PLAYS";

/// The process. It is killed when dropped, and ends if this one does.
pub struct Played {
    process: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Played {
    /// Starts it. It has the threads of a program of tests, all of them asleep.
    pub fn begin() -> Self {
        let player = format!("{}::plays_what_it_is_told", module_path!().split_once("::").unwrap().1);
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args([&player, "--exact", "--nocapture"])
            .env(PLAYS, "")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (orders, answers) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut played = Self { process, orders, answers: BufReader::new(answers) };
        played.say("start futex 0");
        played
    }

    pub fn pid(&self) -> Pid {
        self.process.id() as Pid
    }

    /// Gives an order, `start KIND COUNT` or `stop KIND`, and waits until it is carried out. A thread has the name of its
    /// kind: `futex`, `pipe`, `epoll`, `nanosleep` sleep in that call, `compute` computes. Futexes, computing threads
    /// and processes can be stopped.
    pub fn say(&mut self, order: &str) {
        writeln!(self.orders, "{order}").unwrap();
        let mut line = String::new();
        while line.trim_end() != DONE {
            line.clear();
            assert!(self.answers.read_line(&mut line).unwrap() > 0, "it ended before: {order}");
        }
    }
}

impl Drop for Played {
    fn drop(&mut self) {
        for pid in process_tree::with_descendants_of(&[self.pid()]) {
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = self.process.wait();
    }
}

#[test]
fn plays_what_it_is_told() {
    if std::env::var_os(PLAYS).is_some() {
        return play();
    }
    let mut played = Played::begin();
    let process = played.pid();
    let begun = || threads_named(process, "futex");
    played.say("start futex 2");
    while begun() < 2 {
        thread::yield_now(); // A thread has the name of its parent at first.
    }
    played.say("stop futex");
    assert_eq!(begun(), 0);
}

fn play() {
    let mut play = Play::default();
    for order in io::stdin().lines() {
        match order.unwrap().split(' ').collect::<Vec<_>>()[..] {
            ["start", kind, count] => (0..count.parse::<usize>().unwrap()).for_each(|_| play.start(kind)),
            ["stop", kind] => play.stop(kind),
            ref other => panic!("{other:?}"),
        }
        println!("\n{DONE}");
    }
}

#[derive(Default)]
struct Play {
    futexes: Vec<JoinHandle<()>>,
    computing: Vec<JoinHandle<()>>,
    processes: Vec<Child>,
    /// Whether futexes, and computing threads, are to end.
    signals: Arc<Signals>,
}

#[derive(Default)]
struct Signals {
    futexes_end: Mutex<bool>,
    told: Condvar,
    computing_ends: AtomicBool,
}

impl Play {
    fn start(&mut self, kind: &str) {
        let signals = Arc::clone(&self.signals);
        match kind {
            "futex" => self.futexes.push(named(kind, move || signals.wait())),
            "compute" => self.computing.push(named(kind, move || signals.compute())),
            "process" => self.processes.push(Command::new("sleep").arg("60").spawn().unwrap()),
            "pipe" => drop(named(kind, || {
                let (mut reader, _writer) = io::pipe().unwrap();
                let _ = reader.read(&mut [0]);
            })),
            "epoll" => drop(named(kind, || {
                let epoll = rustix::event::epoll::create(rustix::event::epoll::CreateFlags::CLOEXEC).unwrap();
                let mut events = Vec::with_capacity(1);
                let _ = rustix::event::epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None);
            })),
            "nanosleep" => drop(named(kind, || thread::sleep(Duration::from_secs(60)))),
            _ => panic!("{kind}"),
        }
    }

    fn stop(&mut self, kind: &str) {
        match kind {
            "futex" => {
                *self.signals.futexes_end.lock().unwrap() = true;
                self.signals.told.notify_all();
                self.futexes.drain(..).for_each(|thread| thread.join().unwrap());
                *self.signals.futexes_end.lock().unwrap() = false;
            }
            "compute" => {
                self.signals.computing_ends.store(true, Relaxed);
                self.computing.drain(..).for_each(|thread| thread.join().unwrap());
                self.signals.computing_ends.store(false, Relaxed);
            }
            "process" => self.processes.drain(..).for_each(|mut process| {
                process.kill().unwrap();
                process.wait().unwrap();
            }),
            _ => panic!("{kind}"),
        }
        // The kernel lists a thread for a moment after it was joined.
        while threads_named(std::process::id() as Pid, kind) > 0 {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Signals {
    fn wait(&self) {
        let end = self.futexes_end.lock().unwrap();
        drop(self.told.wait_while(end, |end| !*end).unwrap());
    }

    fn compute(&self) {
        while !self.computing_ends.load(Relaxed) {
            std::hint::spin_loop();
        }
    }
}

fn named(name: &str, work: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().name(name.into()).spawn(work).unwrap()
}

fn threads_named(process: Pid, name: &str) -> usize {
    let threads = fs::read_dir(format!("/proc/{process}/task")).unwrap().flatten();
    let names = threads.filter_map(|thread| fs::read_to_string(thread.path().join("comm")).ok());
    names.filter(|comm| comm.trim_end() == name).count()
}
