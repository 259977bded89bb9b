//! may: stackful coroutines on a few threads: `may PORT THREADS`.

use std::io::{Read, Write};

use may::net::{TcpListener, TcpStream};
use rust_runtimes::{answer, arguments, is_whole};

fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut head = Vec::new();
    let mut piece = [0; 2048];
    loop {
        let count = connection.read(&mut piece)?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(&piece[..count]);
        if is_whole(&head) {
            let (wait, answer) = answer(&head);
            if !wait.is_zero() {
                may::coroutine::sleep(wait);
            }
            connection.write_all(&answer)?;
            head.clear();
        }
    }
}

fn main() -> std::io::Result<()> {
    let (port, threads) = arguments();
    may::config().set_workers(threads).set_stack_size(0x4000);
    let listening = TcpListener::bind(("127.0.0.1", port))?;
    for connection in listening.incoming() {
        let connection = connection?;
        may::go!(move || serve(connection));
    }
    Ok(())
}
