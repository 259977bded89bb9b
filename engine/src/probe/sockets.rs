//! TCP of the machine (of its network namespace) while the load runs: segments that were sent again, sockets in use,
//! ports that are not free again yet. It reads totals only, never single sockets.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::Arc;

use super::continued::Continued;
use super::namespace::Namespace;
use super::reread::reread;
use crate::record::{SocketRecord, Unread};

/// The kernel sums over all cores and sockets for these files, so they are read seldom.
const INTERVAL_NS: u64 = 1_000_000_000;
const BUFFER_BYTES: usize = 8 * 1024;

/// What is read of the machine's sockets. Any thread may read it.
pub struct SocketFiles {
    snmp: io::Result<File>,
    sockstat: io::Result<File>,
    /// `None` if the kernel has no IPv6. Then none of its sockets is in use.
    sockstat6: Option<File>,
}

/// One reading, or why each of its parts could not be read.
#[derive(Debug)]
pub struct Reading {
    retransmitted: Result<u64, String>,
    in_use: Result<u64, String>,
    time_wait: Result<u64, String>,
}

/// Samples, of which one is due at most once a second, and at both ends of the measured phase.
pub struct Sockets {
    pub files: Arc<SocketFiles>,
    not_before_ns: u64,
    retransmitted: Continued,
    record: SocketRecord,
    /// Fields that could not be read, and why.
    unread: BTreeMap<&'static str, String>,
}

impl SocketFiles {
    pub fn open(namespace: Namespace) -> Self {
        Self {
            // The files stay open, so that a trial that runs out of descriptors can still be sampled.
            snmp: File::open(namespace.table("snmp")),
            sockstat: File::open(namespace.table("sockstat")),
            sockstat6: File::open(namespace.table("sockstat6")).ok(),
        }
    }

    pub fn read(&self) -> Reading {
        let mut buffer = vec![0; BUFFER_BYTES];
        Reading {
            retransmitted: read(&self.snmp, &mut buffer, retransmitted),
            time_wait: read(&self.sockstat, &mut buffer, |text| tcp(text, "TCP:", "tw")),
            in_use: self.in_use(&mut buffer),
        }
    }

    fn in_use(&self, buffer: &mut [u8]) -> Result<u64, String> {
        let by_ipv4 = read(&self.sockstat, buffer, |text| tcp(text, "TCP:", "inuse"))?;
        Ok(by_ipv4 + self.in_use_by_ipv6(buffer))
    }

    /// Returns how many sockets hold a port; `None`: that is not known.
    pub fn number(&self) -> Option<u64> {
        self.in_use(&mut vec![0; BUFFER_BYTES]).ok()
    }

    fn in_use_by_ipv6(&self, buffer: &mut [u8]) -> u64 {
        let text = self.sockstat6.as_ref().and_then(|file| reread(file, buffer).ok());
        text.and_then(|text| tcp(text, "TCP6:", "inuse")).unwrap_or(0)
    }
}

impl Sockets {
    pub(crate) fn new(namespace: Namespace) -> Self {
        Self {
            files: Arc::new(SocketFiles::open(namespace)),
            not_before_ns: 0,
            retransmitted: Continued::default(),
            record: SocketRecord::default(),
            unread: BTreeMap::new(),
        }
    }

    /// Returns whether the last sample is a second old.
    pub fn are_due(&self, now_ns: u64) -> bool {
        now_ns >= self.not_before_ns
    }

    /// Adds a sample that was taken at `taken_ns`, which is `at_ns` on the time axis of the record.
    pub fn keep(&mut self, read: Reading, taken_ns: u64, at_ns: u64) {
        self.not_before_ns = taken_ns + INTERVAL_NS;
        self.record.at_ns.push(at_ns);
        let retransmitted = known(&mut self.unread, "retransmitted", read.retransmitted);
        self.record.retransmitted.push(self.retransmitted.take_known(retransmitted));
        self.record.in_use.push(known(&mut self.unread, "in_use", read.in_use));
        self.record.time_wait.push(known(&mut self.unread, "time_wait", read.time_wait));
    }

    /// Ends a turn.
    pub fn resume(&mut self) {
        self.retransmitted.resume();
    }

    pub fn record(mut self) -> SocketRecord {
        let unread = self.unread.into_iter();
        self.record.unread = unread.map(|(field, why)| Unread { field: field.into(), why }).collect();
        self.record
    }
}

fn known(
    unread: &mut BTreeMap<&'static str, String>,
    field: &'static str,
    value: Result<u64, String>,
) -> Option<u64> {
    value.map_err(|why| unread.insert(field, why)).ok()
}

fn read(
    file: &io::Result<File>,
    buffer: &mut [u8],
    find: impl Fn(&str) -> Option<u64>,
) -> Result<u64, String> {
    let file = file.as_ref().map_err(ToString::to_string)?;
    let text = reread(file, buffer).map_err(|error| error.to_string())?;
    find(text).ok_or_else(|| "this kernel does not count it".into())
}

/// Returns `RetransSegs` from the two lines of `Tcp:` in `/proc/net/snmp`: names, then values. IPv6 is included.
fn retransmitted(text: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let place = names.split_ascii_whitespace().position(|name| name == "RetransSegs")?;
    values.split_ascii_whitespace().nth(place)?.parse().ok()
}

/// Returns the number after `name` in the line of `/proc/net/sockstat` that begins with `protocol`.
fn tcp(text: &str, protocol: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(protocol))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|&word| word == name)?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Tcp: RtoAlgorithm RtoMin OutSegs RetransSegs InErrs\nTcp: 1 200 82176372 142 0\n\
        Udp: InDatagrams\nUdp: 7\n";
    const SOCKSTAT: &str = "sockets: used 86\nTCP: inuse 33 orphan 0 tw 89 alloc 66 mem 0\n\
        UDP: inuse 4 mem 0\n";

    #[test]
    fn values_are_found_by_their_names() {
        assert_eq!(retransmitted(SNMP), Some(142));
        assert_eq!(tcp(SOCKSTAT, "TCP:", "inuse"), Some(33));
        assert_eq!(tcp(SOCKSTAT, "TCP:", "tw"), Some(89));
        assert_eq!(tcp("TCP6: inuse 5\nUDP6: inuse 1\n", "TCP6:", "inuse"), Some(5));
    }

    #[test]
    fn what_a_kernel_does_not_say_is_not_zero() {
        assert_eq!(retransmitted("Tcp: OutSegs\nTcp: 3\n"), None);
        assert_eq!(retransmitted("Tcp: RetransSegs\n"), None);
        assert_eq!(tcp("TCP: inuse 33\n", "TCP:", "tw"), None);
        assert_eq!(tcp("TCP: inuse\n", "TCP:", "inuse"), None);
        assert_eq!(tcp("", "TCP:", "inuse"), None);
    }

    #[test]
    fn open_connections_and_the_ports_of_closed_ones_show() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut pairs = Vec::new();
        for _ in 0..100 {
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            pairs.push((near, listener.accept().unwrap().0));
        }
        let mut sockets = Sockets::new(Namespace::OWN);
        sockets.keep(sockets.files.read(), 1_000, 0);
        for (near, far) in pairs {
            drop(near); // The side that closes first keeps the port.
            drop(far);
        }
        sockets.keep(sockets.files.read(), 2_000, 1_000);
        let record = sockets.record();
        assert!(record.unread.is_empty(), "{:?}", record.unread);
        assert_eq!(record.at_ns, [0, 1_000]);
        assert!(record.in_use[0].unwrap() > 200);
        assert!(record.time_wait[1].unwrap() >= 100);
        assert!(record.retransmitted[1] >= record.retransmitted[0]);
    }

    #[test]
    fn between_the_boundaries_it_looks_once_a_second() {
        let mut sockets = Sockets::new(Namespace::OWN);
        for at_ns in (0..=2_000_000_000).step_by(100_000_000) {
            if sockets.are_due(at_ns) {
                sockets.keep(sockets.files.read(), at_ns, at_ns);
            }
        }
        sockets.keep(sockets.files.read(), 2_100_000_000, 2_100_000_000);
        assert_eq!(sockets.record().at_ns, [0, 1_000_000_000, 2_000_000_000, 2_100_000_000]);
    }

    #[test]
    fn a_file_that_is_not_there_is_said_to_be_missing() {
        let mut sockets = Sockets::new(Namespace::OWN);
        let snmp = File::open("/proc/self/net/no-such-file");
        sockets.files = Arc::new(SocketFiles { snmp, ..SocketFiles::open(Namespace::OWN) });
        sockets.keep(sockets.files.read(), 1, 1);
        let record = sockets.record();
        assert_eq!(record.retransmitted, [None]);
        assert_eq!(record.unread.len(), 1);
        assert_eq!(record.unread[0].field, "retransmitted");
        assert!(record.unread[0].why.contains("No such file"));
        assert!(record.in_use[0].is_some());
    }
}
