//! actix-web, computing on its loops: actix PORT WORKERS.

use std::time::Duration;

use actix_web::{rt, web, App, HttpServer};
use rust_frameworks::{arguments, compute, Asked};

async fn hello() -> &'static str {
    "hello"
}

async fn wait(asked: web::Query<Asked>) -> &'static str {
    rt::time::sleep(Duration::from_millis(asked.ms)).await;
    "waited"
}

async fn computed(asked: web::Query<Asked>) -> String {
    compute(asked.ms)
}

#[actix_web::main]
async fn main() -> std::io::Result<()> {
    let (port, workers) = arguments();
    HttpServer::new(|| {
        App::new()
            .route("/", web::get().to(hello))
            .route("/wait", web::get().to(wait))
            .route("/compute", web::get().to(computed))
    })
    .workers(workers)
    .bind(("127.0.0.1", port))?
    .run()
    .await
}
