//! The floor: an epoll loop that only sends and receives. It parses nothing, checks nothing, reads no
//! clock per request and records nothing but a number; what the engine costs above it is the price of
//! measuring.
//!
//!     bare_loop ADDRESS CONNECTIONS SECONDS

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, recv, send};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let (address, connections, seconds) = (&arguments[1], &arguments[2], &arguments[3]);
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
    let sockets: Vec<TcpStream> = (0..connections.parse().unwrap())
        .map(|_| dial(address))
        .collect();
    let answer_bytes = length_of_an_answer(address, &request);
    for (index, mut socket) in sockets.iter().enumerate() {
        socket.set_nonblocking(true).unwrap();
        let data = EventData::new_u64(index as u64);
        epoll::add(&epoll, socket, data, EventFlags::IN | EventFlags::ET).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
    }
    let ends_at = Instant::now() + Duration::from_secs_f64(seconds.parse().unwrap());
    let mut buffer = vec![0; 64 * 1024];
    let mut events = Vec::with_capacity(256);
    let mut answered = 0_u64;
    while Instant::now() < ends_at {
        events.clear();
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), None).unwrap();
        for event in &events {
            let socket = sockets[event.data.u64() as usize].as_fd();
            let (_, bytes) = recv(socket, &mut buffer[..], RecvFlags::empty()).unwrap();
            assert_eq!(
                bytes, answer_bytes,
                "an answer in parts: this loop is too simple for that server"
            );
            send(socket, request.as_bytes(), SendFlags::NOSIGNAL).unwrap();
            answered += 1;
        }
    }
    println!("{answered} answered");
}

fn dial(address: &str) -> TcpStream {
    let socket = TcpStream::connect(address).unwrap();
    socket.set_nodelay(true).unwrap();
    socket
}

fn length_of_an_answer(address: &str, request: &str) -> usize {
    let mut socket = dial(address);
    socket.write_all(request.as_bytes()).unwrap();
    socket.read(&mut [0; 64 * 1024]).unwrap()
}
