//! A peer that uses TLS: an authority, servers with certificates from it, and what they saw of their clients.

use std::io::Write;
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ServerConfig, WebPkiClientVerifier};
use rustls::{
    HandshakeKind, ProtocolVersion, RootCertStore, ServerConnection, StreamOwned, SupportedProtocolVersion,
};
use serde_json::{Value, json};
use tempfile::NamedTempFile;

use super::play;

pub const NAME: &str = "peer.test";

pub type TlsSocket = StreamOwned<ServerConnection, TcpStream>;

pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The authority's certificate, in PEM.
    file: NamedTempFile,
}

impl Authority {
    /// `name` distinguishes it from others: two authorities of the same name would be taken for one.
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let mut file = NamedTempFile::new().unwrap();
        file.write_all(issuer.pem().as_bytes()).unwrap();
        Self { issuer, file }
    }

    /// Returns a server of `NAME` with this version of TLS. With `asks`, it requires a client certificate from the
    /// authority.
    pub fn server(&self, version: &'static SupportedProtocolVersion, asks: bool) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let provider = Arc::new(ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[version]).unwrap();
        let builder = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(self.issuer.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let mut config = builder.with_single_cert(vec![certificate.der().clone()], key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Arc::new(config)
    }

    /// Returns a certificate of the authority for a client, and its key, each in a file.
    pub fn client(&self) -> (NamedTempFile, NamedTempFile) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let written = |pem: String| {
            let mut file = NamedTempFile::new().unwrap();
            file.write_all(pem.as_bytes()).unwrap();
            file
        };
        (written(certificate.pem()), written(key.serialize_pem()))
    }

    /// Returns the `tls` of a spec whose target is trusted because of this authority.
    pub fn trusted(&self) -> Value {
        json!({"server_name": NAME, "verify": true, "ca_file": self.file.path()})
    }
}

/// What a server saw of a client in the handshake.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    pub kind: HandshakeKind,
    pub version: ProtocolVersion,
    /// The name that the client asked for.
    pub name: Option<String>,
    pub protocol: Option<Vec<u8>>,
}

/// What a peer saw in each handshake, in the order in which they ended, or why the handshake failed.
pub type Handshakes = Arc<Mutex<Vec<Result<Seen, String>>>>;

/// Plays `script` over TLS, on each connection after its handshake.
pub fn play_tls(
    config: Arc<ServerConfig>,
    script: impl Fn(&mut TlsSocket) + Send + Sync + Clone + 'static,
) -> (String, Handshakes) {
    let handshakes = Handshakes::default();
    let log = handshakes.clone();
    let address = play(move |socket| {
        socket.set_nodelay(true).unwrap();
        let mut socket = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
        let shaken = shake(&mut socket);
        let stands = shaken.is_ok();
        log.lock().unwrap().push(shaken);
        if stands {
            script(&mut socket);
        }
    });
    (address, handshakes)
}

fn shake(socket: &mut TlsSocket) -> Result<Seen, String> {
    while socket.conn.is_handshaking() {
        socket.conn.complete_io(&mut socket.sock).map_err(|error| error.to_string())?;
    }
    Ok(Seen {
        kind: socket.conn.handshake_kind().unwrap(),
        version: socket.conn.protocol_version().unwrap(),
        name: socket.conn.server_name().map(str::to_owned),
        protocol: socket.conn.alpn_protocol().map(<[u8]>::to_vec),
    })
}

/// Announces that no more will come (close_notify).
pub fn close(socket: &mut TlsSocket) {
    socket.conn.send_close_notify();
    let _ = socket.flush();
}
