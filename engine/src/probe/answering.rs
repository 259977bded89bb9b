//! Watches some of the connections that wait, for whether data come next or more is sent. It tells apart who answers from who
//! does not: a collector of log lines, or a database that is told to close a statement.

use std::io;
use std::thread;
use std::time::Duration;

use super::diag::Diag;
use super::exchange::Look;
use super::interactive::Place;

/// Twelve are watched at a time.
const MOST: usize = 12;
/// An answer and the next question follow one another within microseconds. The more often one looks, the more often one sees
/// which came first.
const LOOKS: usize = 3;
const PAUSE: Duration = Duration::from_micros(300);

/// A connection that waits, and what the last look at it has found.
pub struct Waiting {
    pub inode: u32,
    pub place: Place,
    pub look: Look,
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

/// Looks at each of these several times. Returns those on which something has happened, and how each looked then for the first
/// time.
///
/// # Errors
/// If the kernel refuses a look-up.
pub fn moved(diag: &mut Diag, mut waiting: Vec<Waiting>) -> io::Result<Vec<(Waiting, Look)>> {
    let mut moved = Vec::new();
    for _ in 0..LOOKS {
        if waiting.is_empty() {
            break;
        }
        thread::sleep(PAUSE);
        let mut still = Vec::new();
        for each in waiting {
            let end = diag.end(each.place.0, each.place.1, true)?.filter(|end| end.is_held);
            let look = end.and_then(|end| Some(Look::new(&end, end.traffic?, Some(&each.look))));
            match look {
                Some(look) if look.is_as(&each.look) => still.push(each),
                Some(look) => moved.push((each, look)),
                None => {}
            }
        }
        waiting = still;
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    fn waiting(diag: &mut Diag, socket: &TcpStream) -> Waiting {
        let place = (socket.local_addr().unwrap(), socket.peer_addr().unwrap());
        let end = diag.end(place.0, place.1, true).unwrap().unwrap();
        Waiting { inode: 0, place, look: Look::new(&end, end.traffic.unwrap(), None) }
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
            (0..3).map(|_| (TcpStream::connect(address).unwrap(), listener.accept().unwrap().0)).collect();
        for (near, far) in &mut pool {
            near.write_all(b"?").unwrap();
            far.read_exact(&mut [0]).unwrap();
        }
        let all: Vec<_> = pool.iter().map(|(near, _)| waiting(&mut diag, near)).collect();
        pool[0].1.write_all(b"!").unwrap();
        pool[1].0.write_all(b"?").unwrap();
        let moved = moved(&mut diag, all).unwrap();
        let told: Vec<_> = moved.iter().map(|(before, now)| now.answered_since(&before.look)).collect();
        assert_eq!(told, [Some(true), Some(false)]);
    }
}
