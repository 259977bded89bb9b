//! What the servers have in common: HTTP by hand, and work.

use std::time::Duration;

fn used_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Arithmetic until this thread has used so much CPU time.
fn compute(cpu_ms: u64) -> String {
    let ends = used_ns() + cpu_ms * 1_000_000;
    let mut x = 1u32;
    while used_ns() < ends {
        for _ in 0..20_000 {
            x = std::hint::black_box(x.wrapping_mul(1_103_515_245).wrapping_add(12_345));
        }
    }
    x.to_string()
}

/// How long to wait before answering, and the answer, computed; `head` is the whole head of a request.
pub fn answer(head: &[u8]) -> (Duration, Vec<u8>) {
    let head = String::from_utf8_lossy(head);
    let target = head.split(' ').nth(1).unwrap_or("");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let ms = query
        .strip_prefix("ms=")
        .and_then(|n| n.parse().ok())
        .unwrap_or(0);
    let (status, body) = match path {
        "/" | "/wait" => ("200 OK", "hello".to_string()),
        "/compute" => ("200 OK", compute(ms)),
        _ => ("404 Not Found", String::new()),
    };
    let wait = Duration::from_millis(if path == "/wait" { ms } else { 0 });
    let length = body.len();
    let answer = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
    (wait, answer.into_bytes())
}

/// Whether the head of a request is complete.
pub fn is_whole(head: &[u8]) -> bool {
    head.ends_with(b"\r\n\r\n")
}

/// The port and a number of threads: `server PORT THREADS`.
pub fn arguments() -> (u16, usize) {
    let mut given = std::env::args().skip(1);
    let port = given
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    let threads = given
        .next()
        .and_then(|threads| threads.parse().ok())
        .expect("a number of threads");
    (port, threads)
}
