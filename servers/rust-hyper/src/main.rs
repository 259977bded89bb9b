//! The workloads on hyper and tokio. It logs no request and measures nothing.
//! Here is how it listens; what answers a request is `routes`.

mod database;
mod failure;
mod file;
mod hash;
mod mix;
mod parameters;
mod primes;
mod routes;
mod spin;
mod todos;

use std::error::Error;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpSocket};

use crate::routes::Site;

/// As many as Linux lets wait by default.
const BACKLOG: u32 = 4096;

type AnyError = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), AnyError> {
    let workers = setting("WORKERS")?;
    let keep_alive_s = setting("KEEP_ALIVE")?;
    let port = setting("PORT")?;
    let site = Arc::new(Site::from_environment(setting("POOL")?)?);

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    if workers > 0 {
        runtime.worker_threads(workers);
    }
    let runtime = runtime.enable_all().build()?;
    // Spawned, so that a worker accepts: what block_on runs has a thread of its own.
    runtime.block_on(runtime.spawn(async move {
        let listener = listen(port)?;
        serve(listener, site, keep_alive_s).await
    }))??;
    Ok(())
}

fn setting<T>(name: &str) -> Result<T, AnyError>
where
    T: FromStr<Err: Error>,
{
    let text = std::env::var(name).map_err(|_| format!("{name} is not set"))?;
    let value = text.parse().map_err(|error| format!("{name}: {error}"))?;
    Ok(value)
}

fn listen(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(BACKLOG)
}

async fn serve(listener: TcpListener, site: Arc<Site>, keep_alive_s: u64) -> Result<(), AnyError> {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new());
    if keep_alive_s > 0 {
        // hyper counts it from when a connection falls idle, so it is both that limit and the one for a slow head.
        http.header_read_timeout(Duration::from_secs(keep_alive_s));
    } else {
        http.keep_alive(false);
    }
    loop {
        let (stream, _) = match listener.accept().await {
            Ok(accepted) => accepted,
            // Out of descriptors, most likely: those that wait must not be lost to one that cannot be had now.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        stream.set_nodelay(true).ok();
        let site = Arc::clone(&site);
        let answering = service_fn(move |request| routes::answer(Arc::clone(&site), request));
        let connection = http.serve_connection(TokioIo::new(stream), answering);
        // A client that went away is no error of the server's.
        tokio::spawn(async move { connection.await.ok() });
    }
}
