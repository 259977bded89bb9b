//! axum on tokio, with causes to plant: server PORT name=value...
//!
//!   workers=N (threads of the runtime) beside_port=N work=STEPS
//!
//! GET /work does the steps in turn, joined by "+": wait:MS, compute:MS, block:MS (sleeps without telling the runtime),
//! lockwait:MS (waits with the one asynchronous mutex), query:MS (asks the server at beside_port to wait, over as many
//! connections as are needed).

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::routing::get;
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

struct Server {
    beside: u16,
    work: Vec<(String, f64)>,
    mutex: tokio::sync::Mutex<()>,
    free: Mutex<Vec<TcpStream>>,
}

type Asked = Query<HashMap<String, f64>>;
type Answer = Result<&'static str, StatusCode>;

fn used_ms() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e3 + time.tv_nsec as f64 / 1e6
}

fn compute(cpu_ms: f64) -> u32 {
    let (mut x, ends) = (1u32, used_ms() + cpu_ms);
    while used_ms() < ends {
        for _ in 0..5000 {
            x = black_box(x.wrapping_mul(1103515245).wrapping_add(12345));
        }
    }
    x
}

impl Server {
    async fn query(&self, ms: f64) -> std::io::Result<()> {
        let free = self.free.lock().expect("no task has failed").pop();
        let mut stream = match free {
            Some(stream) => stream,
            None => TcpStream::connect(("127.0.0.1", self.beside)).await?,
        };
        stream.write_all(format!("GET /wait?ms={ms} HTTP/1.1\r\nHost: dependency\r\n\r\n").as_bytes()).await?;
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\ndone") {
            if stream.read_buf(&mut answer).await? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        self.free.lock().expect("no task has failed").push(stream);
        Ok(())
    }

    async fn perform(&self, what: &str, n: f64) -> std::io::Result<()> {
        let time = Duration::from_secs_f64(n / 1e3);
        match what {
            "wait" => tokio::time::sleep(time).await,
            "compute" => drop(compute(n)),
            "block" => std::thread::sleep(time),
            "lockwait" => {
                let _guard = self.mutex.lock().await;
                tokio::time::sleep(time).await;
            }
            "query" => self.query(n).await?,
            _ => panic!("no such step: {what}"),
        }
        Ok(())
    }
}

async fn answer(server: &Server, steps: &[(String, f64)]) -> Answer {
    for (what, n) in steps {
        server.perform(what, *n).await.or(Err(StatusCode::BAD_GATEWAY))?;
    }
    Ok("done")
}

async fn work(State(server): State<Arc<Server>>) -> Answer {
    answer(&server, &server.work).await
}

async fn one_step(server: &Server, what: &str, asked: &HashMap<String, f64>) -> Answer {
    answer(server, &[(what.to_string(), asked.get("ms").copied().unwrap_or(0.0))]).await
}

async fn wait(State(server): State<Arc<Server>>, Query(asked): Asked) -> Answer {
    one_step(&server, "wait", &asked).await
}

async fn computed(State(server): State<Arc<Server>>, Query(asked): Asked) -> Answer {
    one_step(&server, "compute", &asked).await
}

fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).and_then(|text| text.parse().ok()).expect("a port");
    let pair = |text: String| text.split_once('=').map(|(name, value)| (name.to_string(), value.to_string()));
    let given: HashMap<_, _> = std::env::args().filter_map(pair).collect();
    let step = |part: &str| part.split_once(':').map(|(what, n)| (what.to_string(), n.parse().expect("a number")));
    let server = Arc::new(Server {
        beside: given["beside_port"].parse().expect("a port"),
        work: given["work"].split('+').filter_map(step).collect(),
        mutex: tokio::sync::Mutex::new(()),
        free: Mutex::new(Vec::new()),
    });
    let router = Router::new()
        .route("/", get(|| async { "done" }))
        .route("/wait", get(wait))
        .route("/compute", get(computed))
        .route("/work", get(work))
        .with_state(server);
    let workers = given["workers"].parse().expect("a number");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        axum::serve(listener, router).await
    })
}
