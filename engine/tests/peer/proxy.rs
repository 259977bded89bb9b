//! An HTTP proxy for tests: it opens tunnels to whatever server it is asked for, and notes what it was asked.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use super::asked::read_head;
use super::play;

/// The heads of the requests to a proxy, in the order in which they came.
pub type Heads = Arc<Mutex<Vec<String>>>;

/// Plays a proxy that opens tunnels.
pub fn tunnelling() -> (String, Heads) {
    let heads = Heads::default();
    let log = heads.clone();
    let address = play(move |mut client| {
        let Some(head) = read_head(&mut client) else {
            return;
        };
        let authority = head.split(' ').nth(1).unwrap().to_owned();
        log.lock().unwrap().push(head);
        let Ok(server) = TcpStream::connect(authority) else {
            let _ = client.write_all(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n");
            return;
        };
        if client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").is_ok() {
            relay(&client, &server);
        }
    });
    (address, heads)
}

/// Carries bytes in both directions until both sides have ended.
fn relay(client: &TcpStream, server: &TcpStream) {
    for socket in [client, server] {
        socket.set_nodelay(true).unwrap();
    }
    thread::scope(|scope| {
        scope.spawn(|| carry(client, server));
        carry(server, client);
    });
}

fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    let mut piece = [0; 16 * 1024];
    while let Ok(bytes @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..bytes]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
