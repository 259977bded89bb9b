//! Whole trials over every transport: TLS, unix sockets, IPv6, several source addresses; and what must be the same
//! over all of them.

mod peer;

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use peer::asked::Asked;
use peer::harness::{self, CannotRun};
use peer::proxy;
use peer::record::{assert_all, assert_all_for, count, series};
use peer::tls::{Authority, Handshakes, NAME, Seen, TlsSocket, close, play_tls};
use peer::{HELLO, for_seconds, listen, open, play, read_request, request, run, spec};
use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, ProtocolVersion, SupportedProtocolVersion};
use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempDir};

type Outcome = Result<(), CannotRun>;

fn main() -> ExitCode {
    harness::run(named![
        tls_of_either_version_carries_requests,
        a_certificate_for_another_name_is_refused_with_the_reason,
        a_certificate_of_an_unknown_authority_is_refused_with_the_reason,
        a_certificate_that_is_not_verified_is_taken,
        a_user_who_comes_back_resumes_the_session,
        what_tls_says_behind_the_handshake_is_the_reason,
        a_server_that_asks_for_a_certificate_gets_the_clients,
        tls_goes_through_the_tunnel_of_a_proxy,
        a_proxy_that_opens_no_tunnel_is_the_reason,
        a_proxy_without_tls_is_told_which_server_is_meant,
        a_stream_that_ends_unannounced_is_no_whole_answer,
        where_a_handshake_ended_is_the_reason,
        a_unix_socket_carries_requests,
        a_unix_socket_that_is_not_there_is_the_reason,
        ipv6_carries_requests,
        sources_take_turns,
        a_body_longer_than_the_socket_takes_goes_out_whole,
        an_open_shape_with_a_warm_up_adds_up,
        mixed_requests_keep_their_proportions_and_their_answers,
    ])
}

/// Answers every request on `socket` with `hello`.
fn say_hello(socket: &mut (impl Read + Write)) {
    while read_request(socket) && socket.write_all(HELLO).is_ok() {}
}

/// Plays a server over TLS with a certificate from `authority`, which answers with `hello`.
fn hello_over_tls(authority: &Authority, version: &'static SupportedProtocolVersion) -> (String, Handshakes) {
    play_tls(authority.server(version, false), |socket: &mut TlsSocket| {
        say_hello(socket);
        close(socket);
    })
}

/// Listens at a path of its own and plays `script` on every connection. The socket is removed with the folder.
fn play_unix<S>(script: S) -> (TempDir, String)
where
    S: Fn(std::os::unix::net::UnixStream) + Send + Clone + 'static,
{
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let script = script.clone();
            thread::spawn(move || script(socket.unwrap()));
        }
    });
    let address = format!("unix:{}", path.display());
    (folder, address)
}

/// Returns a trial over TLS. It has one thread, so that both connections are used.
fn tls_spec(address: &str, requests: u64, tls: Value) -> Value {
    let mut spec = spec(address, requests);
    spec["target"]["tls"] = tls;
    spec["threads"] = json!(1);
    spec
}

fn seen(kind: HandshakeKind, version: ProtocolVersion) -> Result<Seen, String> {
    Ok(Seen { kind, version, name: Some(NAME.into()), protocol: Some(b"http/1.1".to_vec()) })
}

const VERSIONS: [(&SupportedProtocolVersion, ProtocolVersion); 2] =
    [(&TLS12, ProtocolVersion::TLSv1_2), (&TLS13, ProtocolVersion::TLSv1_3)];

fn tls_of_either_version_carries_requests() -> Outcome {
    let authority = Authority::new("of the tests");
    for (version, spoken) in VERSIONS {
        let (address, handshakes) = hello_over_tls(&authority, version);
        let record = run(&tls_spec(&address, 40, authority.trusted()));
        assert_all(&record, "ok", 40);
        assert_eq!(record["tls_fault"], Value::Null);
        assert_eq!(record["connections_opened"], 2);
        assert_eq!(record["histograms"]["connect_time"]["count"], 2);
        assert_eq!(record["received_bytes"], 40 * HELLO.len() as u64, "as it was under TLS");
        assert_eq!(*handshakes.lock().unwrap(), vec![seen(HandshakeKind::Full, spoken); 2]);
    }
    Ok(())
}

/// Asserts that every request ends as `malformed` for `reason`, in words that contain `why`. Returns the server's reasons.
fn assert_refused(
    address: &str,
    handshakes: &Handshakes,
    tls: Value,
    reason: &str,
    why: &str,
) -> Vec<String> {
    let record = run(&tls_spec(address, 4, tls));
    assert_all_for(&record, "malformed", 4, reason);
    assert_eq!(record["connections_opened"], 0);
    let fault = record["tls_fault"].as_str().unwrap();
    assert!(fault.contains(why), "{fault}");
    let handshakes = handshakes.lock().unwrap();
    handshakes.iter().map(|handshake| handshake.clone().unwrap_err()).collect()
}

fn a_certificate_for_another_name_is_refused_with_the_reason() -> Outcome {
    let authority = Authority::new("of the tests");
    for (version, _) in VERSIONS {
        let (address, handshakes) = hello_over_tls(&authority, version);
        let mut tls = authority.trusted();
        tls["server_name"] = json!("other.test");
        let theirs = assert_refused(&address, &handshakes, tls, "certificate-name", "other.test");
        assert!(theirs.iter().all(|why| why.contains("BadCertificate")), "{theirs:?}");
    }
    Ok(())
}

fn a_certificate_of_an_unknown_authority_is_refused_with_the_reason() -> Outcome {
    let (trusted, stranger) = (Authority::new("trusted"), Authority::new("stranger"));
    for (version, _) in VERSIONS {
        let (address, handshakes) = hello_over_tls(&stranger, version);
        let (reason, why) = ("certificate-untrusted", "UnknownIssuer");
        let theirs = assert_refused(&address, &handshakes, trusted.trusted(), reason, why);
        assert!(theirs.iter().all(|why| why.contains("UnknownCA")), "{theirs:?}");
    }
    Ok(())
}

fn a_certificate_that_is_not_verified_is_taken() -> Outcome {
    let (address, _) = hello_over_tls(&Authority::new("stranger"), &TLS13);
    let tls = json!({"server_name": "other.test", "verify": false, "ca_file": null});
    assert_all(&run(&tls_spec(&address, 20, tls)), "ok", 20);
    Ok(())
}

fn a_user_who_comes_back_resumes_the_session() -> Outcome {
    let authority = Authority::new("of the tests");
    for (version, spoken) in VERSIONS {
        let (address, handshakes) = hello_over_tls(&authority, version);
        let mut spec = tls_spec(&address, 20, authority.trusted());
        spec["connection"] = json!("per-request");
        let record = run(&spec);
        assert_all(&record, "ok", 20);
        assert_eq!(record["connections_opened"], 20);
        let handshakes = handshakes.lock().unwrap();
        let of = |kind| handshakes.iter().filter(|&handshake| *handshake == seen(kind, spoken)).count();
        // Each of the two users is new once.
        assert_eq!((of(HandshakeKind::Full), of(HandshakeKind::Resumed)), (2, 18), "{handshakes:?}");
    }
    Ok(())
}

fn what_tls_says_behind_the_handshake_is_the_reason() -> Outcome {
    // With TLS 1.3 the client's handshake ends before the server has seen that the client has no certificate.
    let authority = Authority::new("of the tests");
    let (address, _) = play_tls(authority.server(&TLS13, true), say_hello);
    let record = run(&tls_spec(&address, 4, authority.trusted()));
    assert_all_for(&record, "malformed", 4, "client-certificate-wanted");
    let fault = record["tls_fault"].as_str().expect("a reason");
    assert!(fault.contains("CertificateRequired"), "{fault}");
    Ok(())
}

fn a_server_that_asks_for_a_certificate_gets_the_clients() -> Outcome {
    let authority = Authority::new("of the tests");
    let (cert, key) = authority.client();
    for (version, spoken) in VERSIONS {
        let (address, handshakes) = play_tls(authority.server(version, true), |socket: &mut TlsSocket| {
            let shown = socket.conn.peer_certificates().is_some_and(|chain| chain.len() == 1);
            assert!(shown, "the server knows the client by its certificate");
            say_hello(socket);
        });
        let mut tls = authority.trusted();
        tls["client"] = json!({"cert_file": cert.path(), "key_file": key.path()});
        let mut spec = tls_spec(&address, 20, tls);
        spec["connection"] = json!("per-request");
        assert_all(&run(&spec), "ok", 20);
        let handshakes = handshakes.lock().unwrap();
        let full = handshakes.iter().filter(|&each| *each == seen(HandshakeKind::Full, spoken)).count();
        assert_eq!((full, handshakes.len()), (2, 20), "each user resumes its own session: {handshakes:?}");
    }
    Ok(())
}

fn tls_goes_through_the_tunnel_of_a_proxy() -> Outcome {
    let authority = Authority::new("of the tests");
    for (version, spoken) in VERSIONS {
        let (server, handshakes) = hello_over_tls(&authority, version);
        let (proxy, heads) = proxy::tunnelling();
        let mut spec = tls_spec(&proxy, 40, authority.trusted());
        spec["target"]["proxy"] =
            json!({"authority": server, "headers": [["Proxy-Authorization", "Basic eDp5"]]});
        let record = run(&spec);
        assert_all(&record, "ok", 40);
        assert_eq!((&record["connections_opened"], &record["tls_fault"]), (&json!(2), &Value::Null));
        assert_eq!(record["received_bytes"], 40 * HELLO.len() as u64, "as it was under TLS");
        assert_eq!(*handshakes.lock().unwrap(), vec![seen(HandshakeKind::Full, spoken); 2]);
        let asked =
            format!("CONNECT {server} HTTP/1.1\r\nHost: {server}\r\nProxy-Authorization: Basic eDp5\r\n\r\n");
        assert_eq!(*heads.lock().unwrap(), vec![asked; 2]);
    }
    Ok(())
}

fn a_proxy_that_opens_no_tunnel_is_the_reason() -> Outcome {
    let authority = Authority::new("of the tests");
    let (proxy, _) = proxy::tunnelling();
    let mut spec = tls_spec(&proxy, 4, authority.trusted());
    // Nobody listens at this port: the listener is gone.
    let (_, free) = listen();
    spec["target"]["proxy"] = json!({"authority": free, "headers": []});
    let record = run(&spec);
    assert_all_for(&record, "malformed", 4, "proxy-refused");
    assert_eq!(record["tls_fault"], "the proxy answered CONNECT with 502 Bad Gateway");
    assert_eq!(record["connections_opened"], 0);
    spec["target"]["proxy"]["authority"] = json!("peer.test:443/x");
    let (code, said) = peer::refusal(&spec);
    assert_eq!(code, Some(2));
    assert!(said["error"].as_str().unwrap().contains("target.proxy.authority"), "{said}");
    Ok(())
}

fn a_proxy_without_tls_is_told_which_server_is_meant() -> Outcome {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = heads.clone();
    let proxy = play(move |mut socket| {
        while let Some(asked) = Asked::read(&mut socket) {
            log.lock().unwrap().push(asked.head);
            if socket.write_all(HELLO).is_err() {
                return;
            }
        }
    });
    let mut spec = tls_spec(&proxy, 4, Value::Null);
    spec["requests"][0]["path"] = json!("/a?b=c");
    spec["target"]["proxy"] =
        json!({"authority": "peer.test", "headers": [["Proxy-Authorization", "Basic eDp5"]]});
    let record = run(&spec);
    assert_all(&record, "ok", 4);
    assert_eq!(record["connections_opened"], 2, "a proxy keeps connections, too");
    let expected =
        "GET http://peer.test/a?b=c HTTP/1.1\r\nHost: peer.test\r\nProxy-Authorization: Basic eDp5\r\n\r\n";
    assert_eq!(*heads.lock().unwrap(), vec![expected.to_owned(); 4]);
    Ok(())
}

fn a_stream_that_ends_unannounced_is_no_whole_answer() -> Outcome {
    let authority = Authority::new("of the tests");
    for (announced, outcome) in [(true, "ok"), (false, "closed-early")] {
        let (address, _) = play_tls(authority.server(&TLS13, false), move |socket: &mut TlsSocket| {
            read_request(socket);
            socket.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
            if announced {
                close(socket);
            }
        });
        let record = run(&tls_spec(&address, 6, authority.trusted()));
        assert_all(&record, outcome, 6);
        let expected = if announced { json!(null) } else { json!("no-close-notify") };
        assert_eq!(record["reasons"][0]["reason"], expected);
    }
    Ok(())
}

fn where_a_handshake_ended_is_the_reason() -> Outcome {
    let authority = Authority::new("of the tests");
    for (name, script) in [
        ("closes", (|mut socket: TcpStream| drop(socket.read(&mut [0; 4096]))) as fn(TcpStream)),
        ("resets", |mut socket| {
            let _ = socket.read(&mut [0; 4096]);
            peer::reset(socket);
        }),
        ("waits", |mut socket| {
            let _ = socket.read(&mut [0; 4096]);
            thread::sleep(Duration::from_secs(5));
        }),
        ("plain", |mut socket| {
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }),
        ("proxy waits", |mut socket| {
            read_request(&mut socket);
            thread::sleep(Duration::from_secs(5));
        }),
        ("proxy closes", |mut socket| {
            read_request(&mut socket);
        }),
        ("proxy wants a login", |mut socket| {
            read_request(&mut socket);
            let _ = socket.write_all(b"HTTP/1.1 407 Login\r\n\r\n");
        }),
        ("proxy is none", |mut socket| {
            read_request(&mut socket);
            let _ = socket.write_all(b"SSH-2.0-x\r\n");
        }),
    ] {
        let (outcome, reason) = match name {
            "closes" => ("closed-early", "handshake"),
            "resets" => ("reset", "handshake"),
            "waits" => ("connect-timeout", "handshake"),
            "plain" => ("malformed", "not-tls"),
            "proxy waits" => ("connect-timeout", "tunnel"),
            "proxy closes" => ("closed-early", "tunnel"),
            "proxy wants a login" => ("malformed", "proxy-login"),
            _ => ("malformed", "proxy-malformed"),
        };
        let mut spec = tls_spec(&play(script), 4, authority.trusted());
        spec["timeouts"]["connect_s"] = json!(0.3);
        if name.starts_with("proxy") {
            spec["target"]["proxy"] = json!({"authority": "peer.test:443", "headers": []});
        }
        assert_all_for(&run(&spec), outcome, 4, reason);
    }
    Ok(())
}

fn a_unix_socket_carries_requests() -> Outcome {
    for (connection, opened) in [("keep-alive", 2), ("per-request", 40)] {
        let (_folder, address) = play_unix(|mut socket| say_hello(&mut socket));
        let mut spec = spec(&address, 40);
        spec["connection"] = json!(connection);
        spec["threads"] = json!(1);
        let record = run(&spec);
        assert_all(&record, "ok", 40);
        assert_eq!(record["connections_opened"], opened);
        assert_eq!(record["received_bytes"], 40 * HELLO.len() as u64);
        assert_eq!(record["arrivals"]["clock"], "engine", "the kernel stamps nothing there");
    }
    Ok(())
}

fn a_unix_socket_that_is_not_there_is_the_reason() -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("unix:{}", folder.path().join("socket").display());
    assert_all_for(&run(&spec(&address, 4)), "refused", 4, "no-socket");
    Ok(())
}

fn ipv6_carries_requests() -> Outcome {
    let listener = TcpListener::bind("[::1]:0")
        .map_err(|error| CannotRun(format!("this machine has no IPv6 on its loopback: {error}")))?;
    let address = listener.local_addr().unwrap();
    let clients = Arc::new(Mutex::new(Vec::new()));
    let log = clients.clone();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            log.lock().unwrap().push(socket.peer_addr().unwrap().ip());
            thread::spawn(move || say_hello(&mut socket));
        }
    });
    let mut spec = spec(&address.to_string(), 40);
    spec["threads"] = json!(1);
    spec["target"]["sources"] = json!(["::1"]);
    let record = run(&spec);
    assert_all(&record, "ok", 40);
    assert_eq!(record["arrivals"]["clock"], "kernel");
    assert_eq!(*clients.lock().unwrap(), vec![IpAddr::from([0, 0, 0, 0, 0, 0, 0, 1]); 2]);
    Ok(())
}

fn sources_take_turns() -> Outcome {
    let (listener, address) = listen();
    let clients = Arc::new(Mutex::new(BTreeMap::<IpAddr, usize>::new()));
    let log = clients.clone();
    thread::spawn(move || {
        for socket in listener.incoming() {
            let mut socket = socket.unwrap();
            *log.lock().unwrap().entry(socket.peer_addr().unwrap().ip()).or_default() += 1;
            thread::spawn(move || say_hello(&mut socket));
        }
    });
    let mut spec = spec(&address, 30);
    spec["threads"] = json!(1);
    spec["connection"] = json!("per-request");
    spec["target"]["sources"] = json!(["127.0.0.2", "127.0.0.3", "127.0.0.4"]);
    assert_all(&run(&spec), "ok", 30);
    let expected = [2, 3, 4].map(|last| (IpAddr::from([127, 0, 0, last]), 10));
    assert_eq!(*clients.lock().unwrap(), BTreeMap::from(expected));
    Ok(())
}

const LONG_BODY_BYTES: usize = 8 << 20;

/// Answers a request whose body is `expected` with `hello`, and any other with an error. Begins to read late, so that
/// more comes than the sockets hold. Counts the bytes of all requests.
fn take_long_bodies(socket: &mut (impl Read + Write), expected: &[u8], taken_bytes: &AtomicU64) {
    loop {
        thread::sleep(Duration::from_millis(50));
        let Some(asked) = Asked::read(socket) else {
            return;
        };
        taken_bytes.fetch_add(asked.bytes() as u64, Relaxed);
        let answer =
            if asked.body == expected { HELLO } else { b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n" };
        if socket.write_all(answer).is_err() {
            return;
        }
    }
}

fn a_body_longer_than_the_socket_takes_goes_out_whole() -> Outcome {
    let body: Arc<[u8]> =
        (0..LONG_BODY_BYTES as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let mut file = NamedTempFile::new().unwrap();
    file.write_all(&body).unwrap();
    let taken_bytes = Arc::new(AtomicU64::new(0));
    let authority = Authority::new("of the tests");
    let (expected, taken) = (body.clone(), taken_bytes.clone());
    let plain = play(move |mut socket| take_long_bodies(&mut socket, &expected, &taken));
    let (expected, taken) = (body.clone(), taken_bytes.clone());
    let (_folder, unix) = play_unix(move |mut socket| take_long_bodies(&mut socket, &expected, &taken));
    let (expected, taken) = (body, taken_bytes.clone());
    let (over_tls, _) = play_tls(authority.server(&TLS13, false), move |socket: &mut TlsSocket| {
        take_long_bodies(socket, &expected, &taken);
    });
    for (address, tls) in [(plain, Value::Null), (unix, Value::Null), (over_tls, authority.trusted())] {
        let mut spec = tls_spec(&address, 4, tls);
        spec["requests"] = json!([request("POST", 200, 5)]);
        spec["requests"][0]["body_file"] = json!(file.path());
        spec["timeouts"]["request_s"] = json!(30.0);
        spec["stop"]["within_s"] = json!(50.0);
        taken_bytes.store(0, Relaxed);
        let record = run(&spec);
        assert_all(&record, "ok", 4);
        assert_eq!(record["sent_bytes"], taken_bytes.load(Relaxed), "{address}");
        assert_eq!(record["connections_opened"], 2, "{address}");
    }
    Ok(())
}

fn an_open_shape_with_a_warm_up_adds_up() -> Outcome {
    let authority = Authority::new("of the tests");
    let (over_tls, _) = hello_over_tls(&authority, &TLS13);
    let plain = play(|mut socket| say_hello(&mut socket));
    for (address, tls) in [(plain, Value::Null), (over_tls, authority.trusted())] {
        let mut spec = tls_spec(&address, 0, tls);
        spec["threads"] = json!(2);
        spec["shape"] = open(8, 1000.0);
        spec["warm_up"] = json!({"connections": null, "pauses": true, "stop": for_seconds(0.35)});
        spec["stop"] = for_seconds(0.65);
        let record = run(&spec);
        assert_eq!((&record["warm_up"]["scheduled"], &record["scheduled"]), (&json!(350), &json!(650)));
        let left = count(&record, "not-sent") + count(&record, "unfinished");
        assert_eq!(count(&record, "ok") + left, 650, "{:#}", record["outcomes"]);
        let phases: Vec<String> = series(&record, "phase");
        let sum = |column: &str, phase: &str| -> u64 {
            let column: Vec<u64> = series(&record, column);
            column.iter().zip(&phases).filter(|(_, of)| *of == phase).map(|(value, _)| value).sum()
        };
        // The series counts no request of the warm-up that was sent after it, and none that was never sent.
        assert!(sum("scheduled", "warm-up") <= 350);
        let not_sent = count(&record, "not-sent");
        assert!((650 - not_sent..=650).contains(&sum("scheduled", "measured")), "{not_sent} not sent");
    }
    Ok(())
}

fn mixed_requests_keep_their_proportions_and_their_answers() -> Outcome {
    const CREATED: &[u8] = b"HTTP/1.1 201 Created\r\nContent-Length: 3\r\n\r\nyes";
    let asked = Arc::new(Mutex::new(BTreeMap::<String, u64>::new()));
    let log = asked.clone();
    let address = play(move |mut socket| {
        while let Some(asked) = Asked::read(&mut socket) {
            *log.lock().unwrap().entry(asked.method().into()).or_default() += 1;
            let answer = if asked.method() == "POST" { CREATED } else { HELLO };
            if socket.write_all(answer).is_err() {
                return;
            }
        }
    });
    // The deck holds 1,024 requests, so it is dealt twice.
    let mut spec = spec(&address, 2048);
    spec["threads"] = json!(1);
    spec["requests"] = json!([request("GET", 200, 5), request("POST", 201, 3)]);
    spec["requests"][0]["weight"] = json!(3);
    spec["requests"][1]["body"] = json!("please");
    let record = run(&spec);
    assert_all(&record, "ok", 2048);
    assert_eq!(*asked.lock().unwrap(), BTreeMap::from([("GET".into(), 1536), ("POST".into(), 512)]));
    // An answer that is compared with the other request's expectation is not `ok`.
    spec["requests"][1]["expect"]["status"] = json!(200);
    let record = run(&spec);
    assert_eq!((count(&record, "ok"), count(&record, "wrong-status")), (1536, 512));
    Ok(())
}
