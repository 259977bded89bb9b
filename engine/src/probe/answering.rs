//! Watches some of the connections that seem to wait, for whether data come next or more is sent. It decides nothing:
//! `waits` does.

use std::io;
use std::thread;
use std::time::Duration;

use super::diag::Diag;
use super::exchange::{Look, Next};
use super::interactive::Place;
use crate::clock::now_ns;

/// So many are watched at a time.
const MOST: usize = 12;
/// An answer and the next question follow one another within microseconds. The more often one looks, the more often one sees
/// which came first.
const LOOKS: usize = 3;
/// The fewer are watched, the more often, up to this.
const LOOKS_MOST: usize = 10;
const PAUSE: Duration = Duration::from_micros(300);

/// A connection that seems to wait, what the last look at it has found, and when that was.
pub struct Waiting {
    pub inode: u32,
    pub place: Place,
    pub look: Look,
    pub looked_ns: u64,
}

/// What was seen of one that was watched: what came next, after how long, and how it looked then, unless it was gone.
pub struct Watched {
    pub waiting: Waiting,
    pub next: Next,
    pub gap_us: u64,
    pub look: Option<Look>,
}

/// Chooses those to be watched: others in each of the `turns`.
pub fn chosen(mut waiting: Vec<Waiting>, turn: u64) -> Vec<Waiting> {
    if waiting.len() > MOST {
        let from = (turn as usize).wrapping_mul(MOST) % waiting.len();
        waiting.rotate_left(from);
        waiting.truncate(MOST);
    }
    waiting
}

/// Looks at each of these several times, until something has happened on it.
///
/// # Errors
/// If the kernel refuses a look-up.
pub fn watched(diag: &mut Diag, mut waiting: Vec<Waiting>) -> io::Result<Vec<Watched>> {
    let mut watched = Vec::new();
    let looks = (LOOKS * MOST / waiting.len().max(1)).clamp(LOOKS, LOOKS_MOST);
    for turn in 1..=looks {
        if waiting.is_empty() {
            break;
        }
        thread::sleep(PAUSE);
        let mut still = Vec::new();
        for each in waiting {
            let seen = look_again(diag, each)?;
            if seen.next == Next::Nothing && turn < looks {
                still.push(seen.waiting);
            } else {
                watched.push(seen);
            }
        }
        waiting = still;
    }
    Ok(watched)
}

fn look_again(diag: &mut Diag, waiting: Waiting) -> io::Result<Watched> {
    let end = diag.end(waiting.place.0, waiting.place.1, true)?.filter(|end| end.is_held);
    let look = end.and_then(|end| Some(Look::new(&end, end.traffic?, Some(&waiting.look))));
    let next = look.map_or_else(|| waiting.look.next_if_gone(), |look| look.next_after(&waiting.look));
    let gap_us = (now_ns() - waiting.looked_ns) / 1_000;
    Ok(Watched { waiting, next, gap_us, look })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn waiting(diag: &mut Diag, socket: &TcpStream) -> Waiting {
        let place = (socket.local_addr().unwrap(), socket.peer_addr().unwrap());
        let end = diag.end(place.0, place.1, true).unwrap().unwrap();
        Waiting { inode: 0, place, look: Look::new(&end, end.traffic.unwrap(), None), looked_ns: now_ns() }
    }

    #[test]
    fn of_many_each_has_its_turn() {
        let mut diag = Diag::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for turn in 0..5 {
            let all = (0..30).map(|inode| Waiting { inode, ..waiting(&mut diag, &near) }).collect();
            let chosen = chosen(all, turn);
            assert_eq!(chosen.len(), MOST);
            seen.extend(chosen.iter().map(|each| each.inode));
        }
        assert_eq!(seen.len(), 30);
    }

    #[test]
    fn what_comes_first_is_seen() {
        let mut diag = Diag::open().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut pool: Vec<_> =
            (0..4).map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0)).collect();
        for (near, far) in &mut pool {
            near.write_all(b"?").unwrap();
            far.read_exact(&mut [0]).unwrap();
        }
        let ports = [0, 1, 2, 3].map(|at: usize| pool[at].0.local_addr().unwrap().port());
        let all: Vec<_> = pool.iter().map(|(near, _)| waiting(&mut diag, near)).collect();
        pool[0].1.write_all(b"!").unwrap();
        pool[1].0.write_all(b"?").unwrap();
        // The last but one is closed, and nothing had come; the last still waits.
        drop(pool.remove(2).0);
        let watched = watched(&mut diag, all).unwrap();
        let next = |port| {
            let seen = watched.iter().find(|seen| seen.waiting.place.0.port() == port).unwrap();
            assert!(seen.gap_us >= 300, "{}", seen.gap_us);
            seen.next
        };
        assert_eq!(ports.map(next), [Next::Answer, Next::Question, Next::Answer, Next::Nothing]);
    }
}
