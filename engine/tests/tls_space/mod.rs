//! What must hold of a TLS session, however the server's records are cut and whatever comes between them: the client
//! never gets another byte than the server sent, nothing that has come is left behind unsaid, and what failed stays
//! failed for the same reason.

use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, LazyLock};

use crumple_engine::carried::Carried;
use crumple_engine::spec::TlsSpec;
use crumple_engine::tls::{Resumable, Session, Tls};
use rcgen::{CertificateParams, KeyPair};
use rustix::io::Errno;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ServerConfig;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConnection, SupportedProtocolVersion};

#[path = "../loop_space/draws.rs"]
mod draws;

use draws::Draws;

const NAME: &str = "peer.test";
/// The least room that a session may be given to read into (`Session::receive`).
const LEAST_BUFFER_BYTES: usize = 36 * 1024;
const MOST_STEPS: usize = 60;

/// Servers of either version, without tickets and with some.
static SERVERS: LazyLock<Vec<Arc<ServerConfig>>> = LazyLock::new(|| {
    let versions: [&'static SupportedProtocolVersion; 2] = [&TLS12, &TLS13];
    versions
        .into_iter()
        .flat_map(|version| [0, 3].map(|tickets| Arc::new(server(version, tickets))))
        .collect()
});
static CLIENT: LazyLock<Tls> = LazyLock::new(|| {
    let spec = TlsSpec { server_name: NAME.into(), verify: false, ca_file: None, client: None };
    Tls::new(&spec, &Carried::default()).map_err(|failure| failure.error).unwrap()
});

fn server(version: &'static SupportedProtocolVersion, tickets: usize) -> ServerConfig {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec![NAME.to_owned()]).unwrap().self_signed(&key).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    config.send_tls13_tickets = tickets;
    config
}

/// Plays one or two connections of a user that are drawn from these bytes, and asserts all of this.
pub fn assert_holds(bytes: &[u8]) {
    let mut draws = Draws::new(bytes);
    let config = draws.one_of(&SERVERS);
    let mut user = Resumable::default();
    for _ in 0..=usize::from(draws.rarely(3)) {
        Connection::new(&config, &mut user, &mut draws).play(&mut draws);
    }
}

/// Both sides of a connection, and the server's bytes on their way.
struct Connection {
    socket: UnixStream,
    session: Session,
    buffer: Vec<u8>,
    peer: UnixStream,
    server: ServerConnection,
    /// Bytes of the server that have not come to the client.
    on_the_way: Vec<u8>,
    /// Something came or ended since the client looked.
    is_ready: bool,
    is_shaken: bool,
    /// Why the client failed.
    why: Option<String>,
    is_ended: bool,
    /// Whether bytes on their way were changed, the server failed, and the connection was cut.
    is_forged: bool,
    has_failed: bool,
    is_cut: bool,
    is_announced: bool,
    /// Plaintext of either side: what it sent, and what came.
    of_server: Transfer,
    of_client: Transfer,
}

#[derive(Default)]
struct Transfer {
    sent: Vec<u8>,
    came: Vec<u8>,
}

impl Transfer {
    fn assert_in_order(&self) {
        assert!(self.sent.starts_with(&self.came), "{} bytes came of {}", self.came.len(), self.sent.len());
    }
}

/// Returns bytes in which any shift shows.
fn pattern(from: usize, bytes: usize) -> Vec<u8> {
    (from..from + bytes).map(|index| ((index as u32).wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

impl Connection {
    fn new(config: &Arc<ServerConfig>, user: &mut Resumable, draws: &mut Draws) -> Self {
        let (socket, peer) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        peer.set_nonblocking(true).unwrap();
        let buffer = vec![0; draws.one_of(&[256 * 1024, LEAST_BUFFER_BYTES])];
        Self {
            session: CLIENT.session(user),
            server: ServerConnection::new(config.clone()).unwrap(),
            socket,
            buffer,
            peer,
            on_the_way: Vec::new(),
            is_ready: true,
            is_shaken: false,
            why: None,
            is_ended: false,
            is_forged: false,
            has_failed: false,
            is_cut: false,
            is_announced: false,
            of_server: Transfer::default(),
            of_client: Transfer::default(),
        }
    }

    fn play(mut self, draws: &mut Draws) {
        for _ in 0..draws.below(MOST_STEPS) {
            self.step(draws);
            self.of_server.assert_in_order();
            self.of_client.assert_in_order();
        }
        self.settle();
        self.assert_settled();
    }

    fn step(&mut self, draws: &mut Draws) {
        match draws.below(14) {
            0..=2 => self.deliver(draws.one_of(&[1, 5, 6, 100, 5_000, 16_406, usize::MAX])),
            3 | 4 => self.look(),
            5 | 6 => self.serve(),
            7 | 8 => self.say(draws.one_of(&[1, 100, 16_384, 16_385, 40_000])),
            9 => self.ask(draws.one_of(&[1, 300, 16_384, 50_000])),
            10 => {
                let _ = self.server.refresh_traffic_keys();
            }
            11 if draws.rarely(3) => self.announce(),
            12 if draws.rarely(3) => self.forge(draws),
            13 if draws.rarely(6) => self.cut(),
            _ => {}
        }
    }

    /// The server reads what has come, and puts on the way what it has to send.
    fn serve(&mut self) {
        let mut came = [0; 16 * 1024];
        while let Ok(bytes @ 1..) = self.peer.read(&mut came) {
            let mut rest = &came[..bytes];
            while !rest.is_empty() && !self.has_failed {
                self.server.read_tls(&mut rest).unwrap();
                self.has_failed = self.server.process_new_packets().is_err();
                let _ = self.server.reader().read_to_end(&mut self.of_client.came);
            }
        }
        while self.server.wants_write() {
            self.server.write_tls(&mut self.on_the_way).unwrap();
        }
    }

    /// The server sends plaintext.
    fn say(&mut self, bytes: usize) {
        if self.server.is_handshaking() || self.is_announced || self.has_failed {
            return;
        }
        let said = pattern(self.of_server.sent.len(), bytes);
        let taken = self.server.writer().write(&said).unwrap();
        self.of_server.sent.extend(&said[..taken]);
        self.serve();
    }

    fn announce(&mut self) {
        if !self.server.is_handshaking() && !self.has_failed {
            self.server.send_close_notify();
            self.is_announced = true;
            self.serve();
        }
    }

    /// Somebody changes or inserts bytes on their way.
    fn forge(&mut self, draws: &mut Draws) {
        let at = draws.place(self.on_the_way.len());
        match self.on_the_way.get_mut(at) {
            Some(byte) if draws.rarely(2) => *byte ^= 1 << draws.below(8),
            _ => {
                let forged = draws.raw();
                self.on_the_way.splice(at..at, forged);
            }
        }
        self.is_forged = true;
    }

    fn cut(&mut self) {
        self.on_the_way.clear();
        let _ = self.peer.shutdown(Shutdown::Write);
        self.is_cut = true;
        self.is_ready = true;
    }

    /// At most this many bytes come to the client.
    fn deliver(&mut self, most: usize) {
        let bytes = self.on_the_way.len().min(most);
        match self.peer.write(&self.on_the_way[..bytes]) {
            Ok(0) => {}
            Ok(bytes) => {
                self.on_the_way.drain(..bytes);
                self.is_ready = true;
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.on_the_way.clear(), // It is cut.
        }
    }

    /// The client acts on a report, as the engine does: it reads again only if it has more at hand, or if the report says
    /// that the connection is closed.
    fn look(&mut self) {
        if !std::mem::take(&mut self.is_ready) {
            return;
        }
        if self.why.is_some() {
            return self.assert_failed_for_good();
        }
        if !self.is_shaken {
            match self.session.shake(self.socket.as_fd()) {
                Ok(is_shaken) => self.is_shaken = is_shaken,
                Err(Errno::CONNABORTED) => return self.fail(),
                Err(errno) => return self.fail_by(errno),
            }
            if !self.is_shaken {
                return;
            }
        }
        while !self.is_ended {
            match self.session.receive(self.socket.as_fd(), &mut self.buffer, false) {
                Ok(received) if received.bytes == 0 => self.is_ended = true,
                Ok(received) => {
                    self.of_server.came.extend(&self.buffer[..received.bytes]);
                    if !self.session.has_plaintext() && !self.is_cut {
                        return;
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(errno) => return self.fail_by(errno),
            }
        }
    }

    fn fail_by(&mut self, errno: Errno) {
        assert_eq!(errno, Errno::PROTO);
        self.fail();
        self.assert_failed_for_good();
    }

    fn fail(&mut self) {
        self.why = Some(self.session.why().expect("a failure has its reason").words);
    }

    fn assert_failed_for_good(&mut self) {
        if self.is_shaken {
            let received = self.session.receive(self.socket.as_fd(), &mut self.buffer, false);
            assert_eq!(received.map(|received| received.bytes), Err(Errno::PROTO));
            assert_eq!(self.session.send(self.socket.as_fd(), b"x"), Err(Errno::PROTO));
        }
        assert_eq!(self.session.why().map(|fault| fault.words), self.why, "the first reason is kept");
    }

    /// The client sends plaintext.
    fn ask(&mut self, bytes: usize) {
        if !self.is_shaken || self.why.is_some() || self.is_ended {
            return;
        }
        let asked = pattern(self.of_client.sent.len(), bytes);
        match self.session.send(self.socket.as_fd(), &asked) {
            Ok(taken) => self.of_client.sent.extend(&asked[..taken]),
            Err(Errno::AGAIN) => {}
            Err(errno) => self.fail_by(errno),
        }
    }

    /// Everything that is on its way comes, and both sides do what they then have to do.
    fn settle(&mut self) {
        for _ in 0..500 {
            self.serve();
            self.deliver(usize::MAX);
            let _ = self.session.flush(self.socket.as_fd());
            self.look();
        }
    }

    fn assert_settled(&mut self) {
        self.of_server.assert_in_order();
        self.of_client.assert_in_order();
        if self.is_forged {
            return;
        }
        if self.why.is_some() {
            let is_closed = self.is_cut || self.is_announced;
            assert!(is_closed && !self.is_shaken, "without a reason: {:?}", self.why);
            return;
        }
        if self.is_cut {
            assert!(self.is_ended, "the end of the stream is not seen");
            return;
        }
        assert!(self.is_shaken, "the handshake does not end");
        assert!(!self.has_failed, "the server did not understand the client");
        assert_eq!(self.of_server.came.len(), self.of_server.sent.len(), "something was left behind");
        assert_eq!(self.is_ended, self.is_announced);
        assert!(!self.session.is_cut());
        if !self.is_announced {
            assert_eq!(self.of_client.came.len(), self.of_client.sent.len());
        }
    }
}
