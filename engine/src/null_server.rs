//! `crumple-engine null-server`: the fastest honest HTTP server that fits a page. It reads every
//! request to its end and answers it with a fixed body; what an engine reaches against it is the
//! engine's own ceiling.

use std::io::{self, Read};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::os::fd::OwnedFd;
use std::thread;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

use crate::failure::Failure;
use crate::{cores, limits, output};

#[derive(clap::Args)]
pub struct NullServer {
    /// Loopback port; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Cores to run on, for instance 0,1
    #[arg(long, value_delimiter = ',')]
    cores: Vec<usize>,
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// Length of the body of every answer
    #[arg(long, default_value_t = 512)]
    body_bytes: usize,
}

const LISTENER: u64 = u64::MAX;

/// Serves until standard input closes; prints `{"port":N}` first.
pub fn run(server: &NullServer) -> Result<(), Failure> {
    let problem = |what: &str, error: &dyn std::fmt::Display| Failure::new(format!("{what}: {error}"));
    cores::pin_current_thread(&server.cores).map_err(|errno| problem("cannot use these cores", &errno))?;
    limits::raise_descriptors_to_the_most();
    let mut port = server.port;
    let body = "x".repeat(server.body_bytes);
    for _ in 0..server.threads.max(1) {
        let listener = listen(port).map_err(|errno| problem("cannot listen on loopback", &errno))?;
        let listener = TcpListener::from(listener);
        port = listener.local_addr().map_err(|error| problem("cannot learn the port", &error))?.port();
        let answer = format!(
            // Connection is said for HTTP/1.0 clients (ab), which close without it.
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: keep-alive\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        thread::spawn(move || serve(&OwnedFd::from(listener), answer.as_bytes()));
    }
    output::print(&format!("{{\"port\":{port}}}"))?;
    let mut input = io::stdin().lock();
    while matches!(input.read(&mut [0; 64]), Ok(read) if read > 0) {}
    Ok(())
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
    let mut peers: Vec<Option<Peer>> = Vec::new();
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
                accept(listener, &epoll, &mut peers)?;
            } else {
                let place = &mut peers[event.data.u64() as usize];
                if place.as_mut().is_some_and(|peer| peer.answer(answer, &mut buffer).is_err()) {
                    *place = None;
                }
            }
        }
    }
}

fn accept(listener: &OwnedFd, epoll: &OwnedFd, peers: &mut Vec<Option<Peer>>) -> rustix::io::Result<()> {
    while let Ok(socket) = net::accept_with(listener, SocketFlags::NONBLOCK | SocketFlags::CLOEXEC) {
        sockopt::set_tcp_nodelay(&socket, true)?;
        let place = peers.iter().position(Option::is_none).unwrap_or(peers.len());
        let edges = EventFlags::IN | EventFlags::ET | EventFlags::RDHUP;
        epoll::add(epoll, &socket, EventData::new_u64(place as u64), edges)?;
        let peer = Peer { socket, matched: 0 };
        if place == peers.len() {
            peers.push(Some(peer));
        } else {
            peers[place] = Some(peer);
        }
    }
    Ok(())
}

struct Peer {
    socket: OwnedFd,
    /// How much of the empty line that ends a request has come.
    matched: usize,
}

impl Peer {
    /// Reads what has come and answers every request that it ends. An error ends the connection.
    fn answer(&mut self, answer: &[u8], buffer: &mut [u8]) -> Result<(), Errno> {
        const END: &[u8] = b"\r\n\r\n";
        loop {
            let bytes = match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((_, 0)) => return Err(Errno::CONNRESET),
                Ok((_, bytes)) => bytes,
                Err(Errno::AGAIN) => return Ok(()),
                Err(errno) => return Err(errno),
            };
            for &byte in &buffer[..bytes] {
                self.matched =
                    if byte == END[self.matched] { self.matched + 1 } else { usize::from(byte == b'\r') };
                if self.matched == END.len() {
                    self.matched = 0;
                    net::send(&self.socket, answer, SendFlags::NOSIGNAL)?;
                }
            }
            if bytes < buffer.len() {
                return Ok(());
            }
        }
    }
}
