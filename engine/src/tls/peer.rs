//! Both sides of a TLS connection, for tests: a server of rustls, and our `Session` at the other end of the socket.

use std::io::Write;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::ServerConfig;
use rustls::version::{TLS12, TLS13};
use rustls::{ServerConnection, StreamOwned, SupportedProtocolVersion};

use super::{Carried, Resumable, Session, Tls};
use crate::socket::Received;
use crate::spec::TlsSpec;
use crate::written::Written;

const BUFFER_BYTES: usize = 64 * 1024;

pub type Peer = StreamOwned<ServerConnection, UnixStream>;

/// A certificate authority, and a server with a certificate from it.
pub struct Vouched {
    /// The authority's certificate, in PEM.
    authority: String,
    config: ServerConfig,
}

impl Vouched {
    pub fn new(names: &[&str], versions: &[&'static SupportedProtocolVersion]) -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        // Two authorities of the same name would be taken for one.
        params.distinguished_name.push(DnType::CommonName, format!("authority {}", number()));
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let names: Vec<String> = names.iter().map(|&name| name.into()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(versions)
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Self { authority: authority.pem(), config }
    }

    /// Changes the number of session tickets with which each connection begins.
    pub fn with_tickets(mut self, tickets: usize) -> Self {
        self.config.send_tls13_tickets = tickets;
        self
    }

    /// Returns a client's TLS that trusts this server's authority. `change` may change the spec first.
    pub fn tls(&self, change: impl FnOnce(&mut TlsSpec)) -> Tls {
        let file = Written::new(&format!("authority-{}", number()), &self.authority);
        let mut spec = spec();
        spec.ca_file = Some(file.path().into());
        change(&mut spec);
        Tls::new(&spec, &Carried::default()).map_err(|failure| failure.error).unwrap()
    }

    /// Returns the server's side of a connection.
    pub fn connection(&self) -> ServerConnection {
        ServerConnection::new(Arc::new(self.config.clone())).unwrap()
    }

    /// Serves one connection with `serve`, after the handshake.
    pub fn serve<T: Send + 'static>(
        &self,
        socket: UnixStream,
        serve: impl FnOnce(&mut Peer) -> T + Send + 'static,
    ) -> JoinHandle<std::io::Result<T>> {
        let connection = self.connection();
        thread::spawn(move || {
            let mut peer = StreamOwned::new(connection, socket);
            while peer.conn.is_handshaking() {
                peer.conn.complete_io(&mut peer.sock)?;
            }
            Ok(serve(&mut peer))
        })
    }
}

fn number() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    LAST.fetch_add(1, Relaxed)
}

pub static SERVER: LazyLock<Vouched> =
    LazyLock::new(|| Vouched::new(&["a.example", "127.0.0.1"], &[&TLS13, &TLS12]));

pub fn spec() -> TlsSpec {
    TlsSpec { server_name: "a.example".into(), verify: true, ca_file: None, client: None }
}

/// The client's side of a connection.
pub struct Client {
    pub socket: UnixStream,
    pub session: Session,
    pub buffer: Vec<u8>,
}

impl Client {
    /// A client, and the other side of its connection.
    pub fn new(tls: &Tls) -> (Self, UnixStream) {
        Self::of(&mut Resumable::default(), tls)
    }

    /// A client for `user`, who may have had sessions before, and the other side of its connection.
    pub fn of(user: &mut Resumable, tls: &Tls) -> (Self, UnixStream) {
        let (socket, peer) = UnixStream::pair().unwrap();
        socket.set_nonblocking(true).unwrap();
        (Self { socket, session: tls.session(user), buffer: vec![0; BUFFER_BYTES] }, peer)
    }

    pub fn shaken(
        tls: &Tls,
        serve: impl FnOnce(&mut Peer) + Send + 'static,
    ) -> (Self, JoinHandle<std::io::Result<()>>) {
        let (mut client, peer) = Self::new(tls);
        let server = SERVER.serve(peer, serve);
        client.shake().unwrap();
        (client, server)
    }

    fn wait(&self, what: PollFlags) {
        poll(&mut [PollFd::new(&self.socket, what)], None).unwrap();
    }

    pub fn shake(&mut self) -> Result<(), Errno> {
        while !self.session.shake(self.socket.as_fd())? {
            self.wait(PollFlags::IN);
        }
        Ok(())
    }

    /// Sends all of `plain`. Returns how often the kernel took no more.
    pub fn send(&mut self, plain: &[u8]) -> usize {
        let (mut sent, mut refused) = (0, 0);
        while sent < plain.len() || !self.session.flush(self.socket.as_fd()).unwrap() {
            match self.session.send(self.socket.as_fd(), &plain[sent..]) {
                Ok(bytes) if bytes > 0 => sent += bytes,
                Ok(_) | Err(Errno::AGAIN) => {
                    refused += 1;
                    self.wait(PollFlags::OUT);
                }
                Err(errno) => panic!("{errno}"),
            }
        }
        refused
    }

    /// Returns all bytes until the end of the stream.
    pub fn receive_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while let Some(piece) = self.receive() {
            all.extend(piece);
        }
        all
    }

    /// Returns the next bytes, or `None` at the end of the stream.
    pub fn receive(&mut self) -> Option<Vec<u8>> {
        loop {
            match self.session.receive(self.socket.as_fd(), &mut self.buffer, false) {
                Ok(Received { bytes: 0, .. }) => return None,
                Ok(Received { bytes, .. }) => return Some(self.buffer[..bytes].to_vec()),
                Err(Errno::AGAIN) => self.wait(PollFlags::IN),
                Err(Errno::INTR) => {}
                Err(errno) => panic!("{errno}: {:?}", self.session.why()),
            }
        }
    }
}

/// Returns bytes in which any shift shows.
pub fn pattern(bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

pub fn end(peer: &mut Peer) {
    peer.conn.send_close_notify();
    peer.flush().unwrap();
}
