//! axum on tokio, computing in tokio's pool for what blocks: axum PORT LOOPS.

use std::time::Duration;

use axum::{extract::Query, routing::get, Router};
use rust_frameworks::{arguments, compute, Asked};

async fn wait(Query(asked): Query<Asked>) -> &'static str {
    tokio::time::sleep(Duration::from_millis(asked.ms)).await;
    "waited"
}

async fn computed(Query(asked): Query<Asked>) -> String {
    tokio::task::spawn_blocking(move || compute(asked.ms))
        .await
        .expect("the pool answers")
}

async fn serve(port: u16) {
    let router = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/wait", get(wait))
        .route("/compute", get(computed));
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port))
        .await
        .expect("the port is free");
    axum::serve(listener, router).await.expect("it serves");
}

fn main() {
    let (port, loops) = arguments();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(loops)
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(serve(port));
}
