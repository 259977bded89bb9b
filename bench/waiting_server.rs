//! A server that only waits: each request takes one of its workers for a fixed time, and the others queue. Its speed
//! follows from these two numbers alone; its own work is a few microseconds for each request.
//!
//!     waiting_server WORK_MS [WORKERS] [CORE]
//!
//! Without WORKERS, or with 0, every request has a worker at once: its answer comes WORK_MS after it. Prints
//! `{"port":N}` and serves until standard input closes.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::thread;

use crumple_engine::clock::now_ns;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity, set_current_timer_slack};
use rustix::time::Timespec;

const LISTENER: u64 = 0;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
const END: &[u8] = b"\r\n\r\n";
/// The most connections that the kernel lets wait to be accepted.
const BACKLOG: i32 = 4096;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let work_ms: f64 = arguments[1].parse().expect("WORK_MS is a number");
    let number = |place: usize| {
        arguments
            .get(place)
            .map(|text| text.parse::<usize>().expect("a number"))
    };
    let workers = number(2)
        .filter(|&workers| workers > 0)
        .unwrap_or(usize::MAX);
    if let Some(core) = number(3) {
        let mut cores = CpuSet::new();
        cores.set(core);
        sched_setaffinity(None, &cores).expect("the core is there");
    }
    // By default a timer may be 50 µs late, to save power (PR_SET_TIMERSLACK).
    set_current_timer_slack(std::num::NonZeroU64::new(1)).expect("timer slack can be set");
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    rustix::net::listen(&listener, BACKLOG).expect("its backlog can be raised");
    println!(
        "{{\"port\":{}}}",
        listener.local_addr().expect("it has a port").port()
    );
    thread::spawn(move || Server::new(listener, (work_ms * 1e6) as u64, workers).serve());
    while matches!(io::stdin().read(&mut [0; 64]), Ok(read) if read > 0) {}
}

struct Peer {
    socket: TcpStream,
    /// How many bytes of the empty line that ends a request have come.
    matched: usize,
}

struct Server {
    listener: TcpListener,
    epoll: OwnedFd,
    work_ns: u64,
    workers: usize,
    peers: HashMap<u64, Peer>,
    next_peer: u64,
    /// When the requests at work will be done, and whose they are. All take equally long, so the first one ends
    /// first.
    at_work: VecDeque<(u64, u64)>,
    /// The peers whose requests wait for a worker.
    queue: VecDeque<u64>,
}

impl Server {
    fn new(listener: TcpListener, work_ns: u64, workers: usize) -> Self {
        listener
            .set_nonblocking(true)
            .expect("a socket can be non-blocking");
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("the kernel has epoll");
        epoll::add(
            &epoll,
            &listener,
            EventData::new_u64(LISTENER),
            EventFlags::IN,
        )
        .expect("it can be watched");
        Self {
            listener,
            epoll,
            work_ns,
            workers,
            peers: HashMap::new(),
            next_peer: LISTENER + 1,
            at_work: VecDeque::new(),
            queue: VecDeque::new(),
        }
    }

    fn serve(&mut self) {
        let mut events = Vec::with_capacity(256);
        loop {
            let timeout = self
                .at_work
                .front()
                .map(|&(done_ns, _)| timespec(done_ns.saturating_sub(now_ns())));
            events.clear();
            match epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                timeout.as_ref(),
            ) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => panic!("epoll: {errno}"),
            }
            self.finish(now_ns());
            for event in &events {
                match event.data.u64() {
                    LISTENER => self.accept(),
                    peer => self.read(peer),
                }
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((socket, _)) = self.listener.accept() {
            socket
                .set_nonblocking(true)
                .expect("a socket can be non-blocking");
            socket
                .set_nodelay(true)
                .expect("a TCP socket takes TCP_NODELAY");
            let data = EventData::new_u64(self.next_peer);
            let interest = EventFlags::IN | EventFlags::ET | EventFlags::RDHUP;
            epoll::add(&self.epoll, &socket, data, interest).expect("it can be watched");
            self.peers
                .insert(self.next_peer, Peer { socket, matched: 0 });
            self.next_peer += 1;
        }
    }

    /// Reads what a peer has sent, and takes each request that ends in it.
    fn read(&mut self, peer: u64) {
        let mut buffer = [0; 4096];
        let Some(Peer { socket, matched }) = self.peers.get_mut(&peer) else {
            return;
        };
        let mut requests = 0;
        let is_open = loop {
            match socket.read(&mut buffer) {
                Ok(0) => break false,
                Ok(bytes) => {
                    for &byte in &buffer[..bytes] {
                        *matched = if byte == END[*matched] {
                            *matched + 1
                        } else {
                            usize::from(byte == b'\r')
                        };
                        if *matched == END.len() {
                            (*matched, requests) = (0, requests + 1);
                        }
                    }
                }
                Err(error) => break error.kind() == io::ErrorKind::WouldBlock,
            }
        };
        if !is_open {
            self.peers.remove(&peer);
        }
        let now_ns = now_ns();
        for _ in 0..requests {
            if self.at_work.len() < self.workers {
                self.at_work.push_back((now_ns + self.work_ns, peer));
            } else {
                self.queue.push_back(peer);
            }
        }
    }

    /// Answers the requests that are done. A worker takes the next request from the queue at the instant when the
    /// last one was done, and not at the instant of this call, so that the server's own delay does not make it
    /// slower. If the peer has closed its connection, the work counts all the same.
    fn finish(&mut self, now_ns: u64) {
        while let Some(&(done_ns, peer)) = self
            .at_work
            .front()
            .filter(|&&(done_ns, _)| done_ns <= now_ns)
        {
            self.at_work.pop_front();
            if let Some(peer) = self.peers.get_mut(&peer) {
                let _ = peer.socket.write(ANSWER);
            }
            if let Some(waiting) = self.queue.pop_front() {
                self.at_work.push_back((done_ns + self.work_ns, waiting));
            }
        }
    }
}

fn timespec(ns: u64) -> Timespec {
    Timespec {
        tv_sec: (ns / 1_000_000_000) as i64,
        tv_nsec: (ns % 1_000_000_000) as _,
    }
}
