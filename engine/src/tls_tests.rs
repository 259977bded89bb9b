use super::*;
use crate::tls::peer::{Client, SERVER, Vouched, spec};
use crate::written::Written;

use std::io::{Read, Write};
use std::net::Shutdown;

use rustix::io::Errno;
use rustls::HandshakeKind;
use rustls::version::{TLS12, TLS13};

/// Returns why a session with `server` fails, as both sides report it.
fn refusal(tls: &Tls, server: &Vouched) -> (String, String) {
    let (mut client, peer) = Client::new(tls);
    let server = server.serve(peer, |_| ());
    assert_eq!(client.shake(), Err(Errno::PROTO));
    client.socket.shutdown(Shutdown::Write).unwrap(); // So that the server does not wait for more.
    (client.session.why().unwrap().words, server.join().unwrap().unwrap_err().to_string())
}

#[test]
fn a_server_that_is_vouched_for_is_asked_and_answers() {
    for versions in [[&TLS13], [&TLS12]] {
        let server = Vouched::new(&["a.example"], &versions);
        let (mut client, peer) = Client::new(&server.tls(|_| ()));
        let server = server.serve(peer, |peer| {
            let mut asked = [0; 5];
            peer.read_exact(&mut asked).unwrap();
            peer.write_all(&asked).unwrap();
            peer.conn.alpn_protocol().map(<[u8]>::to_vec)
        });
        client.shake().unwrap();
        assert_eq!(client.send(b"hello"), 0);
        assert_eq!(client.receive().unwrap(), b"hello");
        assert_eq!(server.join().unwrap().unwrap().unwrap(), b"http/1.1");
    }
}

#[test]
fn addresses_are_names_too() {
    let tls = SERVER.tls(|spec| spec.server_name = "127.0.0.1".into());
    let (_client, server) = Client::shaken(&tls, |_| ());
    server.join().unwrap().unwrap();
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let (ours, theirs) = refusal(&SERVER.tls(|spec| spec.server_name = "b.example".into()), &SERVER);
    assert!(ours.contains("b.example"), "{ours}");
    assert!(theirs.contains("BadCertificate"), "{theirs}");
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused() {
    let stranger = Vouched::new(&["a.example"], &[&TLS13]);
    let (ours, theirs) = refusal(&SERVER.tls(|_| ()), &stranger);
    assert!(ours.contains("UnknownIssuer"), "{ours}");
    assert!(theirs.contains("UnknownCA"), "{theirs}");
}

#[test]
fn whatever_is_not_verified_is_accepted() {
    for versions in [[&TLS13], [&TLS12]] {
        let stranger = Vouched::new(&["b.example"], &versions);
        let tls = stranger.tls(|spec| (spec.verify, spec.ca_file) = (false, None));
        let (mut client, peer) = Client::new(&tls);
        let server = stranger.serve(peer, |_| ());
        client.shake().unwrap();
        server.join().unwrap().unwrap();
    }
}

#[test]
fn a_user_who_comes_back_resumes_and_another_does_not() {
    for versions in [[&TLS13], [&TLS12]] {
        let server = Vouched::new(&["a.example"], &versions);
        let tls = server.tls(|_| ());
        let handshake = |user: &mut Resumable| {
            let (mut client, peer) = Client::of(user, &tls);
            let server = server.serve(peer, |peer| {
                peer.write_all(b"x").unwrap();
                peer.conn.handshake_kind().unwrap()
            });
            client.shake().unwrap();
            client.receive().unwrap(); // The tickets come before this.
            server.join().unwrap().unwrap()
        };
        let (mut one, mut other) = (Resumable::default(), Resumable::default());
        assert_eq!(handshake(&mut one), HandshakeKind::Full);
        assert_eq!(handshake(&mut one), HandshakeKind::Resumed);
        assert_eq!(handshake(&mut other), HandshakeKind::Full);
        assert_eq!(handshake(&mut one), HandshakeKind::Resumed);
        assert_eq!(handshake(&mut other), HandshakeKind::Resumed);
    }
}

#[test]
fn without_tickets_every_handshake_is_a_full_one() {
    let server = Vouched::new(&["a.example"], &[&TLS13]).with_tickets(0);
    let tls = server.tls(|_| ());
    let mut user = Resumable::default();
    for _ in 0..2 {
        let (mut client, peer) = Client::of(&mut user, &tls);
        let server = server.serve(peer, |peer| peer.conn.handshake_kind());
        client.shake().unwrap();
        assert_eq!(server.join().unwrap().unwrap(), Some(HandshakeKind::Full));
    }
}

#[test]
fn a_spec_that_cannot_be_is_a_usage_error() {
    let (empty, garbled) = (Written::new("none.pem", "no PEM"), Written::new("garbled.pem", GARBLED));
    let failure = |change: &dyn Fn(&mut TlsSpec)| {
        let mut spec = spec();
        change(&mut spec);
        let failure = Tls::new(&spec, &Carried::default()).err().unwrap();
        assert_eq!(failure.exit_code, 2);
        assert!(!failure.remedy.is_empty());
        failure.error
    };
    assert!(failure(&|spec| spec.server_name = "a name".into()).contains("a name"));
    assert!(failure(&|spec| spec.ca_file = Some("/nowhere/at/all".into())).contains("/nowhere/at/all"));
    assert!(failure(&|spec| spec.ca_file = Some(empty.path().into())).contains("there are none"));
    assert!(failure(&|spec| spec.ca_file = Some(garbled.path().into())).contains("garbled.pem"));
    let (one, other) = (Own::new("one"), Own::new("other"));
    let client = |cert: &Written, key: &Written| {
        failure(&|spec| {
            let client = ClientCertificateSpec { cert_file: cert.path().into(), key_file: key.path().into() };
            (spec.verify, spec.client) = (false, Some(client));
        })
    };
    assert!(client(&empty, &one.key).contains("there is none"));
    assert!(client(&one.cert, &empty).contains("cannot use the key"));
    assert!(client(&one.cert, &other.key).contains("cannot show the certificate"));
}

/// A certificate and its key, each in a file.
struct Own {
    cert: Written,
    key: Written,
}

impl Own {
    fn new(name: &str) -> Self {
        let own = rcgen::generate_simple_self_signed(vec![name.into()]).unwrap();
        Self {
            cert: Written::new(&format!("{name}-cert.pem"), own.cert.pem()),
            key: Written::new(&format!("{name}-key.pem"), own.signing_key.serialize_pem()),
        }
    }
}

const GARBLED: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
