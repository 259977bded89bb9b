//! `crumple-engine null-server`: an HTTP server that does nothing but answer, as fast as possible. It reads every
//! request to its end and answers with a fixed body. What an engine reaches against it is the engine's own ceiling.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::failure::Failure;
use crate::{cores, limits, output};

#[derive(clap::Args)]
pub struct NullServer {
    /// Port on loopback; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Cores to run on, for instance 0,1
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Length of the body of every answer, 64 MiB at most
    #[arg(long, default_value_t = 512, value_parser = clap::value_parser!(u32).range(..=MOST_BODY_BYTES))]
    body_bytes: u32,
}

const MOST_BODY_BYTES: i64 = 64 << 20;
const LISTENER: u64 = u64::MAX;

/// Serves until standard input closes; prints `{"port":N}` first.
pub fn run(server: &NullServer) -> Result<(), Failure> {
    let problem = |what: &str, error: &dyn std::fmt::Display| Failure::new(format!("{what}: {error}"));
    cores::check(&server.cores)?;
    cores::pin_current_thread(&server.cores).map_err(|errno| problem("cannot use these cores", &errno))?;
    limits::raise_descriptors_to_the_most();
    let answer = answer(server.body_bytes as usize);
    let mut port = server.port;
    for _ in 0..server.threads {
        let listener = listen(port).map_err(|errno| problem("cannot listen on loopback", &errno))?;
        let listener = TcpListener::from(listener);
        port = listener.local_addr().map_err(|error| problem("cannot learn the port", &error))?.port();
        let answer = Arc::clone(&answer);
        thread::spawn(move || serve(&OwnedFd::from(listener), &answer));
    }
    output::print(&format!("{{\"port\":{port}}}"))?;
    let mut input = io::stdin().lock();
    while matches!(input.read(&mut [0; 64]), Ok(read) if read > 0) {}
    Ok(())
}

fn answer(body_bytes: usize) -> Arc<[u8]> {
    let mut answer = format!(
        // HTTP/1.0 clients (ab) close the connection without this header.
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: {body_bytes}\r\n\r\n"
    )
    .into_bytes();
    answer.resize(answer.len() + body_bytes, b'x');
    answer.into()
}

fn listen(port: u16) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = net::socket_with(net::AddressFamily::INET, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseport(&socket, true)?;
    net::bind(&socket, &SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port)))?;
    net::listen(&socket, 4096)?;
    Ok(socket)
}

fn serve(listener: &OwnedFd, answer: &[u8]) -> rustix::io::Result<()> {
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
    let mut peers = Peers::default();
    let mut events = Vec::with_capacity(256);
    let mut buffer = vec![0; 16 * 1024];
    loop {
        events.clear();
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
        for event in &events {
            if event.data.u64() == LISTENER {
                accept(listener, &epoll, &mut peers);
            } else {
                peers.serve(event.data.u64() as usize, event.flags, answer, &mut buffer);
            }
        }
    }
}

fn accept(listener: &OwnedFd, epoll: &OwnedFd, peers: &mut Peers) {
    while let Ok(socket) = net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        let edges = EventFlags::IN | EventFlags::OUT | EventFlags::ET | EventFlags::RDHUP;
        let place = peers.next_place();
        let watched = sockopt::set_tcp_nodelay(&socket, true)
            .and_then(|()| epoll::add(epoll, &socket, EventData::new_u64(place as u64), edges));
        // A connection that has closed already, or that the kernel has no memory to watch, is dropped.
        if watched.is_ok() {
            peers.put(place, Peer { socket, matched: 0, owed: 0, sent: 0 });
        }
    }
}

/// The connections, each in a place of its own.
#[derive(Default)]
struct Peers {
    places: Vec<Option<Peer>>,
    /// Places whose connection has ended.
    empty: Vec<usize>,
}

impl Peers {
    /// Returns the place of the next connection.
    fn next_place(&self) -> usize {
        self.empty.last().copied().unwrap_or(self.places.len())
    }

    fn put(&mut self, place: usize, peer: Peer) {
        if self.empty.pop().is_some() {
            self.places[place] = Some(peer);
        } else {
            self.places.push(Some(peer));
        }
    }

    fn serve(&mut self, place: usize, ready: EventFlags, answer: &[u8], buffer: &mut [u8]) {
        let served = self.places[place].as_mut().map(|peer| match ready {
            // Only room to send: this is reported for each new connection.
            EventFlags::OUT => peer.send(answer),
            _ => peer.serve(answer, buffer),
        });
        if served.is_some_and(|served| served.is_err()) {
            self.places[place] = None;
            self.empty.push(place);
        }
    }
}

struct Peer {
    socket: OwnedFd,
    /// How many bytes of the empty line that ends a request have come.
    matched: usize,
    /// The number of answers to send, and the number of bytes sent of the first of them.
    owed: usize,
    sent: usize,
}

impl Peer {
    /// Reads what has come and answers every request that ends in it. An error ends the connection.
    fn serve(&mut self, answer: &[u8], buffer: &mut [u8]) -> Result<(), Errno> {
        loop {
            let bytes = match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((_, 0)) => return Err(Errno::CONNRESET),
                Ok((_, bytes)) => bytes,
                Err(Errno::AGAIN) => return self.send(answer),
                Err(errno) => return Err(errno),
            };
            self.count_requests(&buffer[..bytes]);
            self.send(answer)?;
            if bytes < buffer.len() {
                return Ok(());
            }
        }
    }

    fn count_requests(&mut self, bytes: &[u8]) {
        const END: &[u8] = b"\r\n\r\n";
        for &byte in bytes {
            self.matched =
                if byte == END[self.matched] { self.matched + 1 } else { usize::from(byte == b'\r') };
            if self.matched == END.len() {
                self.matched = 0;
                self.owed += 1;
            }
        }
    }

    /// Sends the answers, as far as the socket takes them. The kernel reports when it takes more.
    fn send(&mut self, answer: &[u8]) -> Result<(), Errno> {
        while self.owed > 0 {
            match net::send(&self.socket, &answer[self.sent..], SendFlags::NOSIGNAL) {
                Ok(bytes) => self.sent += bytes,
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno),
            }
            if self.sent == answer.len() {
                self.sent = 0;
                self.owed -= 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer() -> Peer {
        let flags = SocketFlags::CLOEXEC;
        let socket = net::socket_with(net::AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
        Peer { socket, matched: 0, owed: 0, sent: 0 }
    }

    #[test]
    fn places_that_were_left_are_taken_first() {
        let mut peers = Peers::default();
        for place in 0..3 {
            assert_eq!(peers.next_place(), place);
            peers.put(place, peer());
        }
        // The socket is not connected, so reading fails.
        peers.serve(1, EventFlags::IN, b"", &mut [0; 8]);
        peers.serve(1, EventFlags::IN, b"", &mut [0; 8]);
        assert_eq!(peers.next_place(), 1);
        peers.put(1, peer());
        assert_eq!(peers.next_place(), 3);
    }

    #[test]
    fn requests_are_counted_however_they_are_cut() {
        let requests = b"GET / HTTP/1.1\r\nA: \r\r\n\r\nGET / HTTP/1.1\r\n\r\n".as_slice();
        for cut in 0..requests.len() {
            let mut peer = peer();
            peer.count_requests(&requests[..cut]);
            peer.count_requests(&requests[cut..]);
            assert_eq!(peer.owed, 2, "cut at {cut}");
        }
    }
}
