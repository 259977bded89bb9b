use super::*;

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

fn pair() -> (UnixStream, UnixStream) {
    let (socket, proxy) = UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    (socket, proxy)
}

fn tunnel() -> Tunnel {
    Tunnel::new(request("a.example:443", &[("Proxy-Authorization".into(), "Basic eDp5".into())]))
}

/// Returns how the tunnel ends when the proxy answers with these pieces, each of them read before the next is sent.
fn answered(pieces: &[&[u8]]) -> (Result<bool, Errno>, Option<String>) {
    let (socket, mut proxy) = pair();
    let mut tunnel = tunnel();
    let mut end = tunnel.open(socket.as_fd());
    for piece in pieces {
        assert_eq!(end, Ok(false));
        proxy.write_all(piece).unwrap();
        end = tunnel.open(socket.as_fd());
    }
    (end, tunnel.why().map(|fault| fault.words))
}

#[test]
fn the_proxy_is_asked_for_the_server_with_its_headers() {
    let (socket, mut proxy) = pair();
    assert_eq!(tunnel().open(socket.as_fd()), Ok(false));
    drop(socket);
    let mut asked = String::new();
    proxy.read_to_string(&mut asked).unwrap();
    let expected =
        "CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic eDp5\r\n\r\n";
    assert_eq!(asked, expected);
}

#[test]
fn a_tunnel_is_open_when_the_whole_answer_has_come() {
    let agreed: &[u8] = b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n";
    assert_eq!(answered(&[agreed]), (Ok(true), None));
    let bytes: Vec<&[u8]> = agreed.chunks(1).collect();
    assert_eq!(answered(&bytes), (Ok(true), None));
    assert_eq!(answered(&[&agreed[..agreed.len() - 1]]), (Ok(false), None));
    assert_eq!(answered(&[b"HTTP/1.1 100 Continue\r\n\r\n", agreed]), (Ok(true), None));
    // "A client MUST ignore any Content-Length" of such an answer (RFC 9110, 9.3.6).
    assert_eq!(answered(&[b"HTTP/1.0 201 Fine\r\nContent-Length: 5\r\n\r\n"]), (Ok(true), None));
}

#[test]
fn a_proxy_that_opens_no_tunnel_is_the_reason() {
    let cases: [(&[u8], &str); 4] = [
        (
            b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n",
            "the proxy answered CONNECT with 407 Proxy Authentication Required",
        ),
        (b"HTTP/1.1 502 \r\n\r\n", "the proxy answered CONNECT with 502"),
        (b"SSH-2.0-x\r\n", "the proxy did not answer CONNECT as HTTP/1.1 does"),
        (b"HTTP/1.1 200 OK\r\n\r\nhello", "more than an answer came through the tunnel"),
    ];
    for (answer, why) in cases {
        assert_eq!(answered(&[answer]), (Err(Errno::PROTO), Some(why.into())));
    }
}

#[test]
fn an_answer_without_end_is_given_up() {
    let long = [b"HTTP/1.1 200 OK\r\nX: ".as_slice(), &[b'x'; MOST_HEAD_BYTES]].concat();
    let (end, why) = answered(&[&long]);
    assert_eq!(end, Err(Errno::PROTO));
    assert!(why.unwrap().contains("too long"));
}

#[test]
fn a_proxy_that_hangs_up_closed_early() {
    let (socket, proxy) = pair();
    let mut tunnel = tunnel();
    assert_eq!(tunnel.open(socket.as_fd()), Ok(false));
    rustix::net::shutdown(&proxy, rustix::net::Shutdown::Write).unwrap();
    assert_eq!(tunnel.open(socket.as_fd()), Err(Errno::CONNABORTED));
    assert_eq!(tunnel.why().unwrap().words, "the proxy closed the connection");
}
