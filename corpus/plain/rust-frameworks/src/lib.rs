//! What the servers have in common.

/// `?ms=N`; 0 without one.
#[derive(serde::Deserialize)]
pub struct Asked {
    #[serde(default)]
    pub ms: u64,
}

fn used_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Arithmetic until this thread has used so much CPU time.
pub fn compute(cpu_ms: u64) -> String {
    let ends = used_ns() + cpu_ms * 1_000_000;
    let mut x = 1u32;
    while used_ns() < ends {
        for _ in 0..20_000 {
            x = std::hint::black_box(x.wrapping_mul(1_103_515_245).wrapping_add(12_345));
        }
    }
    x.to_string()
}

/// The port and a number of threads: `server PORT THREADS`.
pub fn arguments() -> (u16, usize) {
    let mut given = std::env::args().skip(1);
    let port = given
        .next()
        .and_then(|port| port.parse().ok())
        .expect("a port");
    (
        port,
        given
            .next()
            .and_then(|threads| threads.parse().ok())
            .expect("a number of threads"),
    )
}
