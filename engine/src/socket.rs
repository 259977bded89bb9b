//! Sockets: how they are opened, and how they are read with the kernel's receive timestamps. TLS and HTTP are
//! elsewhere.

use std::ffi::c_long;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, RecvFlags, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use crate::clock::unix_ns;

/// Where a server listens.
#[derive(Clone, Debug)]
pub enum Address {
    Tcp(SocketAddr),
    Unix(SocketAddrUnix),
}

impl Address {
    /// Returns whether it is reached over TCP. Then the kernel can stamp what arrives and discard what is not read.
    pub fn is_tcp(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    /// Opens a non-blocking socket and begins to connect it, from `source` if one is given. `of_many` says that there
    /// will be so many that the kernel is to look for a port among all ports at once.
    ///
    /// # Errors
    /// What the kernel returns; `ADDRNOTAVAIL` if it has no port left.
    pub fn connect(&self, source: Option<IpAddr>, stamped: bool, of_many: bool) -> Result<OwnedFd, Errno> {
        let family = match self {
            Self::Tcp(SocketAddr::V4(_)) => AddressFamily::INET,
            Self::Tcp(SocketAddr::V6(_)) => AddressFamily::INET6,
            Self::Unix(_) => AddressFamily::UNIX,
        };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
        let begun = match self {
            Self::Tcp(address) => {
                sockopt::set_tcp_nodelay(&socket, true)?;
                if stamped {
                    ask_for_stamps(&socket)?;
                }
                if of_many {
                    look_among_all_ports(&socket);
                }
                if let Some(source) = source {
                    bind_without_port(&socket, source)?;
                }
                net::connect(&socket, address)
            }
            Self::Unix(address) => net::connect(&socket, address),
        };
        match begun {
            Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
            Err(errno) => Err(errno),
        }
    }
}

/// Asks the kernel to stamp what it receives on this socket (timestamping.rst). SO_TIMESTAMPING would give more
/// timestamps, and would cost more to read.
fn ask_for_stamps(socket: &OwnedFd) -> Result<(), Errno> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)
}

/// Keeps the kernel stamping. The kernel begins to stamp when the first socket asks for it, which takes a moment.
pub struct Stamping {
    _socket: OwnedFd,
}

impl Stamping {
    /// Asks for stamps, and waits until the kernel stamps a datagram to this socket as it arrives. Returns `None` if
    /// it never does. A datagram without a stamp gets the time of its reading, which is later than `sent_ns`
    /// (`__sock_recv_timestamp`). The socket is connected to itself, so that nobody else reaches it.
    pub fn begin() -> Option<Self> {
        let socket = net::socket_with(
            AddressFamily::INET,
            SocketType::DGRAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )
        .ok()?;
        ask_for_stamps(&socket).ok()?;
        net::bind(&socket, &SocketAddr::from(([127, 0, 0, 1], 0))).ok()?;
        net::connect(&socket, &net::getsockname(&socket).ok()?).ok()?;
        for _ in 0..STAMPING_TRIES {
            net::send(&socket, b"?", net::SendFlags::empty()).ok()?;
            let sent_ns = unix_ns();
            let received = receive(socket.as_fd(), &mut [0; 8], true);
            if received.is_ok_and(|received| (1..=sent_ns).contains(&received.stamp)) {
                return Some(Self { _socket: socket });
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        None
    }
}

const STAMPING_TRIES: u32 = 1_000;

/// Binds without a port. `connect` chooses the port: it has the other end's address, and so may use a port that is in
/// use towards another address (ip(7), IP_BIND_ADDRESS_NO_PORT).
fn bind_without_port(socket: &OwnedFd, source: IpAddr) -> Result<(), Errno> {
    set_option(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    net::bind(socket, &SocketAddr::new(source, 0))
}

/// Lets the kernel look for a port among all ports. By default it looks among the ports of one parity first, and
/// through all of these each time once they are taken. If a socket names a range, the kernel takes the next port of
/// this range (ip(7), IP_LOCAL_PORT_RANGE); a range wider than the machine's own leaves the latter in effect. Linux
/// before 6.3 has no such option, and looks as by default.
fn look_among_all_ports(socket: &OwnedFd) {
    let _ = set_option(socket, libc::IPPROTO_IP, IP_LOCAL_PORT_RANGE, ALL_PORTS);
}

/// From linux/in.h; libc does not have it.
const IP_LOCAL_PORT_RANGE: i32 = 51;
/// The first port is in the lower half, the last in the upper half.
const ALL_PORTS: i32 = (65_535_u32 << 16 | 1) as i32;

/// Lets the kernel report a TCP socket as readable only if this many bytes wait, or the peer has closed. The kernel
/// reports it sooner if its buffer holds no more, so that no socket waits for ever (`tcp_epollin_ready`).
pub fn wake_at(socket: &OwnedFd, bytes: usize) {
    // A socket does not refuse this. If it did, reports would come for any bytes, as before.
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes as i32);
}

fn set_option(socket: &OwnedFd, level: i32, option: i32, value: i32) -> Result<(), Errno> {
    let length = size_of::<i32>() as libc::socklen_t;
    // SAFETY: `value` lives through the call, and `length` is the length of `value`.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(last_errno()) }
}

/// The result of one read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// 0 = the peer has closed.
    pub bytes: usize,
    /// When the last of these bytes arrived, by the clock that stamps. `Network::stamped_ns` converts it to the
    /// monotonic clock. 0 = no stamp.
    pub stamp: u64,
}

/// Reads once, with the kernel's timestamp by the wall clock if it was asked for.
///
/// # Errors
/// What the kernel returns; `AGAIN` if there is nothing to read.
#[inline]
pub fn receive(socket: BorrowedFd, buffer: &mut [u8], stamped: bool) -> Result<Received, Errno> {
    if stamped {
        return receive_stamped(socket, buffer, 0);
    }
    let (_, bytes) = net::recv(socket, buffer, RecvFlags::empty())?;
    Ok(Received { bytes, stamp: 0 })
}

/// Reads once from a TCP socket and lets the kernel discard what it reads without a copy, at most as many bytes as
/// `buffer` has room for (tcp(7), MSG_TRUNC).
///
/// # Errors
/// Those of `receive`.
#[inline]
pub fn discard(socket: BorrowedFd, buffer: &mut [u8], stamped: bool) -> Result<Received, Errno> {
    if stamped {
        return receive_stamped(socket, buffer, libc::MSG_TRUNC);
    }
    let (_, bytes) = net::recv(socket, buffer, RecvFlags::TRUNC)?;
    Ok(Received { bytes, stamp: 0 })
}

/// A control message with a time, as the kernel writes it: its header (cmsg(3)), and seconds and nanoseconds.
#[derive(Default)]
#[repr(C, align(8))]
struct Control {
    _length: usize,
    level: i32,
    kind: i32,
    seconds: c_long,
    nanoseconds: c_long,
}

// What the kernel writes has the layout of these two, one after the other.
const _: () = assert!(
    std::mem::offset_of!(Control, seconds) == size_of::<libc::cmsghdr>()
        && size_of::<Control>() == size_of::<libc::cmsghdr>() + size_of::<libc::timespec>()
);

#[inline]
fn receive_stamped(socket: BorrowedFd, buffer: &mut [u8], flags: i32) -> Result<Received, Errno> {
    let mut control = Control::default();
    let mut whole = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: zero is valid for each field; the structs of musl and glibc differ only in padding.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut whole;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>() as _;
    // SAFETY: every pointer in `message` is to memory that outlives the call and is as long as it says.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
    if bytes < 0 {
        return Err(last_errno());
    }
    let is_stamp = message.msg_controllen as usize >= size_of::<Control>()
        && control.level == libc::SOL_SOCKET
        && control.kind == libc::SO_TIMESTAMPNS;
    let stamp_ns = control.seconds as u64 * 1_000_000_000 + control.nanoseconds as u64;
    let stamp = if is_stamp { stamp_ns } else { 0 };
    Ok(Received { bytes: bytes as usize, stamp })
}

fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}

/// Returns the address that the socket is bound to; `None` if it is no TCP socket, or has no port yet.
pub fn local(socket: impl AsFd) -> Option<SocketAddr> {
    let local = SocketAddr::try_from(net::getsockname(socket).ok()?).ok()?;
    (local.port() != 0).then_some(local)
}

/// What the network knows of the end of a connection. Zero where it does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// How long ago the peer's last segment came. A reset is no such segment.
    pub ago_ns: u64,
    /// The shortest round trip so far.
    pub round_trip_ns: u64,
}

/// Returns what the kernel knows of the end of a TCP connection (`TCP_INFO`, tcp(7)); nothing for another socket. Its
/// clock advances every 1 to 10 ms.
pub fn end(socket: BorrowedFd) -> End {
    // SAFETY: zero is valid for each field.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: both live through the call, and `length` is the length of `info`.
    let got = unsafe {
        let info = (&raw mut info).cast();
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_INFO, info, &raw mut length)
    };
    if got != 0 {
        return End::default();
    }
    // The kernel writes the largest number if it has measured no round trip.
    let round_trip_us = if info.tcpi_min_rtt == u32::MAX { 0 } else { info.tcpi_min_rtt };
    End {
        ago_ns: u64::from(info.tcpi_last_ack_recv) * 1_000_000,
        round_trip_ns: u64::from(round_trip_us) * 1_000,
    }
}

/// Returns the result of an attempt to connect, on a socket that has become writable.
///
/// # Errors
/// Why the socket could not be connected.
pub fn connected(socket: impl AsFd) -> Result<(), Errno> {
    sockopt::socket_error(socket)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    fn pair(stamped: bool) -> (OwnedFd, std::net::TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        let socket = address.connect(Some("127.0.0.3".parse().unwrap()), stamped, true).unwrap();
        let (peer, from) = listener.accept().unwrap();
        assert_eq!(from.ip().to_string(), "127.0.0.3");
        connected(&socket).unwrap();
        (socket, peer)
    }

    fn read(socket: &OwnedFd, stamped: bool) -> Received {
        let mut buffer = [0; 64];
        loop {
            match receive(socket.as_fd(), &mut buffer, stamped) {
                Err(Errno::AGAIN) => std::thread::yield_now(),
                other => return other.unwrap(),
            }
        }
    }

    #[test]
    fn the_kernel_says_when_an_answer_came() {
        let _stamping = Stamping::begin().unwrap();
        let (socket, mut peer) = pair(true);
        let before_ns = unix_ns();
        peer.write_all(b"hello").unwrap();
        // A busy machine may deliver the bytes a moment after `write` has returned.
        let after_ns = unix_ns() + 10_000_000;
        std::thread::sleep(std::time::Duration::from_millis(20));
        let received = read(&socket, true);
        assert_eq!(received.bytes, 5);
        let stamp_ns = received.stamp;
        assert!((before_ns..=after_ns).contains(&stamp_ns), "{stamp_ns} in {before_ns} to {after_ns}");
    }

    #[test]
    fn once_stamping_has_begun_nothing_is_unstamped() {
        for _ in 0..100 {
            let _stamping = Stamping::begin().unwrap();
            let (socket, mut peer) = pair(true);
            peer.write_all(b"hello").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert_ne!(read(&socket, true).stamp, 0);
        }
    }

    #[test]
    fn what_keeps_the_kernel_stamping_hears_nobody_else() {
        let stamping = Stamping::begin().unwrap();
        let port = local(&stamping._socket).unwrap().port();
        let all = std::fs::read_to_string("/proc/self/net/udp").unwrap();
        // Its own address, and that of its only peer (proc_pid_net(5)).
        let own = format!("0100007F:{port:04X}");
        let of_it: Vec<_> = all.lines().filter(|line| line.contains(&own)).collect();
        assert_eq!(of_it.len(), 1, "{all}");
        assert_eq!(of_it[0].split_whitespace().filter(|&field| field == own).count(), 2, "{of_it:?}");
    }

    /// Returns the range that the kernel keeps for the socket, or `None` if the kernel has no such option.
    fn port_range(socket: &OwnedFd) -> Option<i32> {
        let (mut range, mut length) = (0_i32, size_of::<i32>() as libc::socklen_t);
        // SAFETY: both live through the call, and `length` is the length of `range`.
        let got = unsafe {
            let range = (&raw mut range).cast();
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_IP,
                IP_LOCAL_PORT_RANGE,
                range,
                &raw mut length,
            )
        };
        (got == 0).then_some(range)
    }

    #[test]
    fn of_many_sockets_each_may_have_any_port() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Address::Tcp(listener.local_addr().unwrap());
        for (of_many, range) in [(false, 0), (true, ALL_PORTS)] {
            let socket = address.connect(None, false, of_many).unwrap();
            assert_eq!(port_range(&socket).unwrap_or(range), range);
        }
    }

    #[test]
    fn the_kernel_says_when_the_peer_closed() {
        let (socket, peer) = pair(false);
        drop(peer);
        assert_eq!(read(&socket, false).bytes, 0);
        let early = end(socket.as_fd());
        std::thread::sleep(std::time::Duration::from_millis(100));
        // What is sent now is answered with a reset. It is no part of the stream.
        net::send(&socket, b"hello", net::SendFlags::NOSIGNAL).unwrap();
        assert_eq!(read(&socket, false).bytes, 0);
        let late = end(socket.as_fd());
        assert!(late.ago_ns >= early.ago_ns + 90_000_000, "{early:?} {late:?}");
        assert!((1..50_000_000).contains(&late.round_trip_ns), "{late:?}");
        let (unix, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!(end(unix.as_fd()), End::default());
    }

    #[test]
    fn without_stamps_there_is_none() {
        let (socket, mut peer) = pair(false);
        peer.write_all(b"hello").unwrap();
        assert_eq!(read(&socket, false), Received { bytes: 5, stamp: 0 });
        drop(peer);
        assert_eq!(read(&socket, false).bytes, 0);
    }
}
