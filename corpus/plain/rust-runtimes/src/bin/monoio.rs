//! monoio: on each thread a loop over io_uring with a listening socket of its own: `monoio PORT THREADS`.

use monoio::io::{AsyncReadRent, AsyncWriteRentExt};
use monoio::net::{ListenerOpts, TcpListener, TcpStream};
use rust_runtimes::{answer, arguments, is_whole};

async fn serve(mut connection: TcpStream) -> std::io::Result<()> {
    connection.set_nodelay(true)?;
    let mut head = Vec::new();
    let mut piece = vec![0; 2048];
    loop {
        let (count, read) = connection.read(piece).await;
        let count = count?;
        if count == 0 {
            return Ok(());
        }
        head.extend_from_slice(&read[..count]);
        piece = read;
        if is_whole(&head) {
            let (wait, answer) = answer(&head);
            if !wait.is_zero() {
                monoio::time::sleep(wait).await;
            }
            connection.write_all(answer).await.0?;
            head.clear();
        }
    }
}

async fn accept(port: u16) -> std::io::Result<()> {
    let options = ListenerOpts::new().reuse_port(true).backlog(1024);
    let listening = TcpListener::bind_with_config(("127.0.0.1", port), &options)?;
    loop {
        let (connection, _) = listening.accept().await?;
        monoio::spawn(serve(connection));
    }
}

fn main() {
    let (port, threads) = arguments();
    let threads: Vec<_> = (0..threads)
        .map(|_| {
            std::thread::spawn(move || {
                monoio::RuntimeBuilder::<monoio::FusionDriver>::new()
                    .enable_timer()
                    .build()
                    .expect("a runtime")
                    .block_on(accept(port))
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("a loop").expect("a socket");
    }
}
