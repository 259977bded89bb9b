//! rouille with a pool of threads for its handlers, which block: rouille PORT THREADS.

use std::{thread, time::Duration};

use rouille::{Request, Response, Server};
use rust_frameworks::{arguments, compute};

fn answer(request: &Request) -> Response {
    let ms = request
        .get_param("ms")
        .and_then(|ms| ms.parse().ok())
        .unwrap_or(0);
    match request.url().as_str() {
        "/" => Response::text("hello"),
        "/wait" => {
            thread::sleep(Duration::from_millis(ms));
            Response::text("waited")
        }
        "/compute" => Response::text(compute(ms)),
        _ => Response::empty_404(),
    }
}

fn main() {
    let (port, threads) = arguments();
    let server = Server::new(("127.0.0.1", port), answer).expect("the port is free");
    server.pool_size(threads).run();
}
