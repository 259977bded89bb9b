//! The server that is loaded, and single calls to the kernel.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

/// The server, the request, and the length of each answer.
#[derive(Clone)]
pub struct Target {
    address: String,
    pub request: Vec<u8>,
    pub answer_bytes: usize,
}

impl Target {
    /// Sends one request, to learn the length of an answer.
    pub fn look(address: &str, path: &str) -> Self {
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
        let mut target = Self {
            address: address.to_owned(),
            request,
            answer_bytes: 0,
        };
        let mut socket = target.dial();
        socket
            .write_all(&target.request)
            .expect("the request is sent");
        target.answer_bytes = length_of_answer(&mut socket);
        target
    }

    pub fn dial(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address)
            .unwrap_or_else(|error| panic!("cannot connect to {}: {error}", self.address));
        socket
            .set_nodelay(true)
            .expect("a TCP socket takes TCP_NODELAY");
        socket
    }
}

fn length_of_answer(socket: &mut TcpStream) -> usize {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).expect("an answer comes");
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    let (_, after) = text
        .split_once("content-length:")
        .expect("the answer says its length");
    let body: usize = after
        .lines()
        .next()
        .unwrap_or("")
        .trim()
        .parse()
        .expect("a length is a number");
    head.len() + body
}

/// Asks the kernel to stamp what it receives on this socket.
pub fn ask_for_stamps(socket: &TcpStream) {
    set_option(socket, libc::SO_TIMESTAMPNS, 1);
}

/// Lets the kernel report readiness only from this many bytes on.
pub fn set_low_water(socket: &TcpStream, bytes: usize) {
    set_option(
        socket,
        libc::SO_RCVLOWAT,
        bytes.min(i32::MAX as usize) as i32,
    );
}

fn set_option(socket: &TcpStream, option: i32, value: i32) {
    // SAFETY: `value` lives through the call, and the length is its own.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            option,
            (&raw const value).cast(),
            4,
        )
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// A control message, as the kernel writes it.
#[repr(C, align(8))]
pub struct Control {
    header: libc::cmsghdr,
    time: libc::timespec,
}

impl Control {
    pub fn stamp_unix_ns(&self) -> u64 {
        let is_stamp = self.header.cmsg_level == libc::SOL_SOCKET
            && self.header.cmsg_type == libc::SO_TIMESTAMPNS;
        if is_stamp {
            self.time.tv_sec as u64 * 1_000_000_000 + self.time.tv_nsec as u64
        } else {
            0
        }
    }
}

/// Reads once into `buffer`. Returns how many bytes came, and the kernel's timestamp or 0.
#[inline]
pub fn receive_stamped(socket: &TcpStream, buffer: &mut [u8]) -> Result<(usize, u64), Errno> {
    receive_message(socket, buffer.as_mut_ptr(), buffer.len(), 0)
}

/// Takes up to `bytes` from the socket without copying them.
#[inline]
pub fn discard_stamped(socket: &TcpStream, bytes: usize) -> Result<(usize, u64), Errno> {
    // TCP with MSG_TRUNC writes to no buffer (tcp(7)), so none of this length is needed.
    receive_message(socket, std::ptr::dangling_mut(), bytes, libc::MSG_TRUNC)
}

#[inline]
fn receive_message(
    socket: &TcpStream,
    buffer: *mut u8,
    bytes: usize,
    flags: i32,
) -> Result<(usize, u64), Errno> {
    let mut control = std::mem::MaybeUninit::<Control>::uninit();
    let mut whole = libc::iovec {
        iov_base: buffer.cast(),
        iov_len: bytes,
    };
    // SAFETY: zero is valid for each field.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut whole;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: the pointers are to memory that outlives the call. `buffer` is as long as it says, or is not written
    // to.
    let received = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    if received < 0 {
        return Err(last_errno());
    }
    let stamp_unix_ns = if message.msg_controllen as usize >= size_of::<Control>() {
        // SAFETY: the kernel has written all of it.
        unsafe { control.assume_init() }.stamp_unix_ns()
    } else {
        0
    };
    Ok((received as usize, stamp_unix_ns))
}

/// Reads once, without a timestamp.
#[inline]
pub fn receive(socket: &TcpStream, buffer: &mut [u8]) -> Result<usize, Errno> {
    rustix::net::recv(socket.as_fd(), buffer, rustix::net::RecvFlags::empty())
        .map(|(_, bytes)| bytes)
}

/// Takes up to `bytes` from the socket without copying them and without a timestamp.
#[inline]
pub fn discard(socket: &TcpStream, bytes: usize) -> Result<usize, Errno> {
    // SAFETY: TCP with MSG_TRUNC writes to no buffer (tcp(7)).
    let received = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            std::ptr::dangling_mut::<u8>().cast(),
            bytes,
            libc::MSG_TRUNC,
        )
    };
    if received < 0 {
        Err(last_errno())
    } else {
        Ok(received as usize)
    }
}

#[inline]
pub fn send(socket: &TcpStream, request: &[u8]) {
    let sent = rustix::net::send(socket.as_fd(), request, rustix::net::SendFlags::NOSIGNAL);
    assert_eq!(
        sent,
        Ok(request.len()),
        "a short request is sent whole, or the server has gone"
    );
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
