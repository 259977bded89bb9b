use super::*;
use crate::tls::peer::{Client, Peer, SERVER, Vouched, end, pattern};

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

use rustix::net::sockopt;
use rustls::version::{TLS12, TLS13};

#[test]
fn what_is_no_tls_fails_and_says_so() {
    let (mut client, mut peer) = Client::new(&SERVER.tls(|_| ()));
    peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    assert_eq!(client.shake(), Err(Errno::PROTO));
    assert!(client.session.why().unwrap().words.contains("corrupt message"), "{:?}", client.session);
}

#[test]
fn a_failure_is_told_once() {
    let (mut client, mut peer) = Client::new(&SERVER.tls(|_| ()));
    peer.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    assert_eq!(client.shake(), Err(Errno::PROTO));
    client.session.close(client.socket.as_fd());
    drop(client);
    let mut told = Vec::new();
    peer.read_to_end(&mut told).unwrap();
    let alerts = told.windows(5).filter(|bytes| *bytes == [21, 3, 3, 0, 2]).count();
    assert_eq!(alerts, 1, "{told:?}");
}

#[test]
fn a_server_that_hangs_up_on_the_handshake_is_told_apart() {
    let (mut client, mut peer) = Client::new(&SERVER.tls(|_| ()));
    assert_eq!(client.session.shake(client.socket.as_fd()), Ok(false));
    let _ = peer.read(&mut [0; 4096]).unwrap();
    drop(peer);
    assert_eq!(client.shake(), Err(Errno::CONNABORTED));
    assert!(client.session.why().unwrap().words.contains("handshake"));
}

/// The connection stays open: nothing else would end the wait.
#[test]
fn a_server_that_announces_its_end_with_the_handshake_has_closed() {
    let older = Vouched::new(&["a.example"], &[&TLS12]).with_tickets(0);
    let (mut client, mut peer) = Client::new(&older.tls(|_| ()));
    let mut server = older.connection();
    let mut came = [0; 4096];
    while server.is_handshaking() {
        assert_eq!(client.session.shake(client.socket.as_fd()), Ok(false));
        let bytes = peer.read(&mut came).unwrap();
        server.read_tls(&mut &came[..bytes]).unwrap();
        server.process_new_packets().unwrap();
        if !server.is_handshaking() {
            server.send_close_notify();
        }
        let mut last = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut last).unwrap();
        }
        peer.write_all(&last).unwrap();
    }
    assert_eq!(client.session.shake(client.socket.as_fd()), Err(Errno::CONNABORTED));
    assert!(client.session.why().unwrap().words.contains("closed the connection during the handshake"));
}

#[test]
fn a_large_request_goes_out_as_the_kernel_takes_it() {
    let asked = pattern(1 << 20);
    let expected = asked.clone();
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), move |peer| {
        let mut came = vec![0; expected.len()];
        for piece in came.chunks_mut(10_007) {
            // Slower than the client sends, so that the kernel takes no more again and again.
            thread::sleep(Duration::from_millis(1));
            peer.read_exact(piece).unwrap();
        }
        assert!(came == expected);
        peer.write_all(b"ok").unwrap();
    });
    sockopt::set_socket_send_buffer_size(&client.socket, 4096).unwrap();
    assert!(client.send(&asked) > 10);
    assert_eq!(client.receive().unwrap(), b"ok");
    server.join().unwrap().unwrap();
}

#[test]
fn a_large_answer_comes_whole() {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), |peer| {
        peer.write_all(&pattern(1 << 20)).unwrap();
        end(peer);
    });
    assert!(client.receive_all() == pattern(1 << 20));
    assert!(!client.session.is_cut());
    server.join().unwrap().unwrap();
}

#[test]
fn nothing_that_has_come_is_left_behind_unsaid() {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), |peer| {
        peer.write_all(&pattern(100_000)).unwrap();
        end(peer);
    });
    server.join().unwrap().unwrap();
    // All of it has come, so epoll would report it only once.
    let mut all = client.receive().unwrap();
    while client.session.has_plaintext() {
        match client.session.receive(client.socket.as_fd(), &mut client.buffer, false).unwrap().bytes {
            0 => break,
            bytes => all.extend(&client.buffer[..bytes]),
        }
    }
    assert!(all == pattern(100_000));
    assert_eq!(client.session.end, Some(End::Announced));
}

#[test]
fn an_announced_end_and_a_cut_are_told_apart() {
    let tls = SERVER.tls(|_| ());
    let (mut client, server) = Client::shaken(&tls, |peer| {
        peer.write_all(b"all").unwrap();
        end(peer);
    });
    assert_eq!((client.receive_all(), client.session.is_cut()), (b"all".to_vec(), false));
    server.join().unwrap().unwrap();
    let (mut client, server) = Client::shaken(&tls, |peer| peer.write_all(b"not all").unwrap());
    server.join().unwrap().unwrap();
    assert_eq!((client.receive_all(), client.session.is_cut()), (b"not all".to_vec(), true));
}

#[test]
fn half_a_record_is_no_plaintext() {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), |peer| {
        peer.conn.writer().write_all(&pattern(1000)).unwrap();
        let mut record = Vec::new();
        peer.conn.write_tls(&mut record).unwrap();
        peer.sock.write_all(&record[..500]).unwrap();
    });
    server.join().unwrap().unwrap();
    assert_eq!((client.receive_all(), client.session.is_cut()), (vec![], true));
}

#[test]
fn records_may_come_in_single_bytes() {
    let tls = SERVER.tls(|_| ());
    let (mut client, through) = Client::new(&tls);
    let (mut relay, peer) = UnixStream::pair().unwrap();
    let server = SERVER.serve(peer, |peer| {
        let mut asked = [0; 5];
        peer.read_exact(&mut asked).unwrap();
        peer.write_all(&pattern(20_000)).unwrap();
        end(peer);
    });
    let (mut from, mut to) = (through.try_clone().unwrap(), relay.try_clone().unwrap());
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    let dribble = thread::spawn(move || {
        let (mut through, mut byte) = (through, [0]);
        while relay.read(&mut byte).is_ok_and(|bytes| bytes > 0) {
            through.write_all(&byte).unwrap();
        }
    });
    client.shake().unwrap();
    client.send(b"hello");
    assert!(client.receive_all() == pattern(20_000));
    server.join().unwrap().unwrap();
    drop(client);
    dribble.join().unwrap();
}

#[test]
fn keys_may_change_on_the_way() {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), |peer| {
        for _ in 0..20 {
            let mut asked = [0; 5];
            peer.read_exact(&mut asked).unwrap();
            peer.conn.refresh_traffic_keys().unwrap();
            peer.write_all(&asked).unwrap();
        }
    });
    for _ in 0..20 {
        client.send(b"hello");
        assert_eq!(client.receive().unwrap(), b"hello");
    }
    server.join().unwrap().unwrap();
}

#[test]
fn the_server_hears_that_we_close() {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), |peer| {
        // Without close_notify the read would fail with UnexpectedEof.
        assert_eq!(peer.read(&mut [0; 10]).unwrap(), 0);
    });
    client.session.close(client.socket.as_fd());
    server.join().unwrap().unwrap();
}

#[test]
fn at_rest_a_session_holds_no_buffer() {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), |peer| {
        let mut asked = [0; 5];
        peer.read_exact(&mut asked).unwrap();
        peer.write_all(&pattern(40_000)).unwrap();
    });
    client.send(b"hello");
    let mut received = 0;
    while received < 40_000 {
        received += client.receive().unwrap().len();
    }
    let session = &client.session;
    assert!(session.incoming.is_empty() && session.unread.is_empty() && session.outgoing.is_empty());
    let held = session.incoming.capacity() + session.unread.capacity() + session.outgoing.capacity();
    assert!(held < 20_000, "{held}");
    server.join().unwrap().unwrap();
}

#[test]
fn what_no_buffer_holds_is_a_failure_and_no_end() {
    let generous = Vouched::new(&["a.example"], &[&TLS13]).with_tickets(5_000);
    let (mut client, peer) = Client::new(&generous.tls(|_| ()));
    let _server = generous.serve(peer, |peer| peer.write_all(b"at last"));
    client.shake().unwrap();
    client.buffer.truncate(36 * 1024);
    assert_eq!(next(&mut client), Err(Errno::PROTO));
    assert!(client.session.why().unwrap().words.contains("longer than the buffer"));
}

/// Returns how many bytes of plaintext come next, or why there are none.
fn next(client: &mut Client) -> Result<usize, Errno> {
    loop {
        match client.session.receive(client.socket.as_fd(), &mut client.buffer, false) {
            Err(Errno::AGAIN | Errno::INTR) => thread::yield_now(),
            other => return other.map(|received| received.bytes),
        }
    }
}

/// Sends a server's hello of 64 KiB, with each byte in a record of its own. Returns how many bytes the client took.
fn drip_hello(mut peer: UnixStream) -> usize {
    let _ = peer.read(&mut [0; 4096]).unwrap();
    let record = |byte: u8| [22, 3, 3, 0, 1, byte];
    let message = [2, 0, 0xff, 0xff].into_iter().chain(std::iter::repeat(0)).take(1 << 16);
    let mut sent = 0;
    for byte in message {
        if peer.write_all(&record(byte)).is_err() {
            break;
        }
        sent += record(byte).len();
    }
    sent
}

#[test]
fn a_handshake_that_does_not_end_is_given_up() {
    let (mut client, peer) = Client::new(&SERVER.tls(|_| ()));
    sockopt::set_socket_send_buffer_size(&peer, 4096).unwrap();
    let server = thread::spawn(move || drip_hello(peer));
    let mut most_held = 0;
    let failure = loop {
        match client.session.shake(client.socket.as_fd()) {
            Ok(is_shaken) => assert!(!is_shaken),
            Err(errno) => break errno,
        }
        most_held = most_held.max(client.session.incoming.capacity());
        thread::yield_now();
    };
    assert_eq!(failure, Errno::PROTO);
    assert!(client.session.why().unwrap().words.contains("longer than the buffer"));
    assert!(most_held.max(client.session.incoming.capacity()) <= MOST_HANDSHAKE_BYTES, "{most_held}");
    drop(client);
    assert!(server.join().unwrap() < 6 << 16, "it did not take all of the message");
}

/// Returns a client whose session failed when it read what the server sent in `serve`, after the handshake.
fn broken(serve: impl FnOnce(&mut Peer) + Send + 'static) -> Client {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), serve);
    server.join().unwrap().unwrap();
    assert_eq!(next(&mut client), Err(Errno::PROTO));
    client
}

#[test]
fn what_fails_behind_the_handshake_fails_for_good_and_says_why() {
    let mut client = broken(|peer| peer.sock.write_all(b"HTTP/1.1 500 no TLS here\r\n\r\n").unwrap());
    let why = client.session.why().unwrap().words;
    assert!(why.contains("corrupt message"), "{why}");
    for _ in 0..2 {
        assert_eq!(client.session.send(client.socket.as_fd(), b"hello"), Err(Errno::PROTO));
        let received = client.session.receive(client.socket.as_fd(), &mut client.buffer, false);
        assert_eq!(received, Err(Errno::PROTO));
        assert_eq!(client.session.why().unwrap().words, why);
    }
}

/// A record of 20 bytes that no key decrypts.
const FORGED: &[u8] = b"\x17\x03\x03\x00\x1400000000000000000000";

#[test]
fn an_alert_of_the_server_is_the_reason() {
    let client = broken(|peer| {
        // The server reads this as if the client had sent it.
        peer.conn.read_tls(&mut &*FORGED).unwrap();
        peer.conn.process_new_packets().unwrap_err();
        peer.conn.write_tls(&mut peer.sock).unwrap();
    });
    let why = client.session.why().unwrap().words;
    assert!(why.contains("received fatal alert 20: BadRecordMac"), "{why}");
}

#[test]
fn the_server_is_told_what_it_did_wrong() {
    let (mut client, server) = Client::shaken(&SERVER.tls(|_| ()), |peer| {
        peer.sock.write_all(FORGED).unwrap();
        let error = peer.read(&mut [0; 10]).unwrap_err().to_string();
        assert!(error.contains("BadRecordMac"), "{error}");
    });
    assert_eq!(next(&mut client), Err(Errno::PROTO));
    drop(client);
    server.join().unwrap().unwrap();
}
