use super::*;
use crate::tried::until_shown;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

/// Longer than a tick of the kernel's clock, so that what comes before it and after it has different times.
const LATER: Duration = Duration::from_millis(25);

/// A connection that this process has opened, and its other end.
struct Pair {
    near: TcpStream,
    far: TcpStream,
}

impl Pair {
    fn ask(&mut self) {
        self.near.write_all(b"question").unwrap();
        self.far.read_exact(&mut [0; 8]).unwrap();
    }

    fn answer(&mut self) {
        self.far.write_all(b"answer").unwrap();
        self.near.read_exact(&mut [0; 6]).unwrap();
    }
}

/// What plays the dependency.
struct Played {
    listener: TcpListener,
    address: SocketAddr,
}

impl Played {
    fn at(address: &str, client: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { listener, address: SocketAddr::new(client.parse().unwrap(), port) }
    }

    fn connect(&self, connections: usize) -> Vec<Pair> {
        let connect = |_| {
            let near = TcpStream::connect(self.address).unwrap();
            Pair { near, far: self.listener.accept().unwrap().0 }
        };
        (0..connections).map(connect).collect()
    }
}

fn own_pid() -> Pid {
    std::process::id() as Pid
}

/// The dependencies of this process. Other tests in it have theirs, so each looks at its own peer alone.
fn open() -> Dependencies {
    open_beside("127.0.0.1:1".parse().unwrap())
}

fn open_beside(load: SocketAddr) -> Dependencies {
    Dependencies::open(own_pid(), &Address::Tcp(load)).unwrap_or_else(|why| panic!("{why}"))
}

fn read(dependencies: &mut Dependencies, peer: &Peer, is_survey: bool) -> Found {
    read_as(dependencies, peer, is_survey, false)
}

fn read_as(dependencies: &mut Dependencies, peer: &Peer, is_survey: bool, is_close: bool) -> Found {
    let reading = dependencies.read(is_survey, is_close).unwrap();
    assert_eq!(reading.is_survey, is_survey);
    let number = dependencies.peers.number(peer);
    number.and_then(|number| reading.found.get(number).copied()).unwrap_or_default()
}

/// What a survey and a look after it find of this peer.
fn found(dependencies: &mut Dependencies, played: &Played) -> [Found; 2] {
    let peer = Peer::Tcp(played.address);
    [true, false].map(|is_survey| read(dependencies, &peer, is_survey))
}

#[test]
fn of_a_pool_those_that_wait_are_told_from_the_others() {
    for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")] {
        let played = Played::at(address, client);
        let mut pool = played.connect(10);
        pool[..6].iter_mut().for_each(Pair::ask);
        thread::sleep(LATER);
        pool[..6].iter_mut().for_each(Pair::answer);
        thread::sleep(LATER);
        pool[..4].iter_mut().for_each(Pair::ask);
        let mut dependencies = open();
        // Four have carried no request yet.
        let expected = Found { waiting: 4, idle: 6, ..Found::default() };
        assert_eq!(found(&mut dependencies, &played), [expected; 2], "{address}");
        thread::sleep(LATER);
        pool[..2].iter_mut().for_each(Pair::answer);
        let expected = Found { waiting: 2, idle: 8, ..Found::default() };
        assert_eq!(found(&mut dependencies, &played), [expected; 2], "{address}");
    }
}

/// What a close survey and a close look after it find of this peer.
fn found_closely(dependencies: &mut Dependencies, played: &Played) -> [Found; 2] {
    let peer = Peer::Tcp(played.address);
    [true, false].map(|is_survey| read_as(dependencies, &peer, is_survey, true))
}

#[test]
fn a_close_look_tells_a_fast_answer_from_a_question_that_followed_one_at_once() {
    if !interactive::is_told() {
        return;
    }
    for (address, client) in [("127.0.0.1:0", "127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")] {
        let played = Played::at(address, client);
        let mut pool = played.connect(12);
        // All times of an exchange are the same, as a rule, and so are those of an answer and a question after it.
        for pair in &mut pool {
            pair.ask();
            pair.answer();
        }
        for pair in &mut pool[..5] {
            pair.ask();
        }
        thread::sleep(LATER);
        let expected = Found { waiting: 5, idle: 7, ..Found::default() };
        assert_eq!(found_closely(&mut open(), &played), [expected; 2], "{address}");
    }
}

#[test]
fn connections_that_come_and_go_are_found_by_surveys() {
    let played = Played::at("127.0.0.1:0", "127.0.0.1");
    let mut dependencies = open();
    let mut pool = played.connect(3);
    pool.iter_mut().for_each(Pair::ask);
    let waiting = |waiting| Found { waiting, ..Found::default() };
    assert_eq!(found(&mut dependencies, &played), [waiting(3); 2]);
    pool.truncate(1);
    assert!(!dependencies.read(false, false).unwrap().is_survey);
    pool.extend(played.connect(1));
    pool[1].ask();
    let reading = dependencies.read(true, false).unwrap();
    assert!(reading.has_changed);
    assert_eq!(found(&mut dependencies, &played), [waiting(2); 2]);
}

#[test]
fn a_greeting_is_nothing_to_wait_for() {
    let played = Played::at("127.0.0.1:0", "127.0.0.1");
    let mut pool = played.connect(3);
    for pair in &mut pool[1..] {
        pair.far.write_all(b"welcome").unwrap();
    }
    pool[2].near.read_exact(&mut [0; 7]).unwrap();
    assert_eq!(found(&mut open(), &played), [Found { idle: 3, ..Found::default() }; 2]);
}

#[test]
fn an_answer_that_is_not_read_is_no_longer_waited_for() {
    let played = Played::at("127.0.0.1:0", "127.0.0.1");
    let mut pool = played.connect(2);
    pool.iter_mut().for_each(Pair::ask);
    pool[0].far.write_all(b"answer").unwrap();
    assert_eq!(found(&mut open(), &played), [Found { waiting: 1, idle: 1, ..Found::default() }; 2]);
}

#[test]
fn from_a_dependency_that_has_closed_nothing_is_waited_for() {
    let played = Played::at("127.0.0.1:0", "127.0.0.1");
    let mut pool = played.connect(3);
    pool.iter_mut().for_each(Pair::ask);
    pool[0].far.shutdown(std::net::Shutdown::Write).unwrap();
    // The server sends no more, and waits for the answer.
    pool[1].near.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(found(&mut open(), &played), [Found { waiting: 2, idle: 1, ..Found::default() }; 2]);
}

#[test]
fn a_question_that_is_not_accepted_or_not_read_waits() {
    let played = Played::at("127.0.0.1:0", "127.0.0.1");
    let mut near = TcpStream::connect(played.address).unwrap();
    near.write_all(b"question").unwrap();
    let expected = Found { waiting: 1, ..Found::default() };
    let mut dependencies = open();
    assert_eq!(found(&mut dependencies, &played), [expected; 2]);
    let accepted = played.listener.accept().unwrap();
    assert_eq!(found(&mut dependencies, &played), [expected; 2]);
    drop(accepted);
}

#[test]
fn however_fast_the_answers_nothing_is_told_wrongly() {
    let played = Played::at("127.0.0.1:0", "127.0.0.1");
    let mut pool = played.connect(8);
    let mut dependencies = open();
    let mut known = 0;
    for turn in 0..60 {
        for pair in &mut pool {
            for _ in 0..=turn % 4 {
                pair.ask();
                pair.answer();
            }
        }
        // The last ask once more, and wait.
        let waiting = turn % 9;
        pool[8 - waiting..].iter_mut().for_each(Pair::ask);
        let found = if turn % 2 == 0 {
            found(&mut dependencies, &played)
        } else {
            found_closely(&mut dependencies, &played)
        };
        for found in found {
            let (waiting, idle) = (waiting as u64, 8 - waiting as u64);
            assert_eq!(found.connections(), 8);
            assert!(found.waiting <= waiting && found.idle <= idle, "{found:?} with {waiting} waiting");
            known += found.waiting + found.idle;
        }
        pool[8 - waiting..].iter_mut().for_each(Pair::answer);
    }
    assert!(known > 0);
}

#[test]
fn once_it_is_acknowledged_who_was_last_is_known() {
    until_shown(|| {
        let played = Played::at("127.0.0.1:0", "127.0.0.1");
        let mut pool = played.connect(2);
        for pair in &mut pool {
            // After these, acknowledgements come later.
            for _ in 0..40 {
                pair.ask();
                pair.answer();
            }
        }
        pool[1].ask();
        thread::sleep(Duration::from_millis(100));
        let [found, again] = found(&mut open(), &played);
        assert!(found == again && found.waiting <= 1 && found.idle <= 1, "{found:?} {again:?}");
        if found == (Found { waiting: 1, idle: 1, ..Found::default() }) {
            return Ok(());
        }
        // Where a thread is held up in between, an acknowledgement may be sent at once. Then nothing is known.
        Err(format!("{found:?}"))
    });
}

#[test]
fn what_was_accepted_is_no_dependency_and_neither_is_the_load() {
    let [load, other] = [(); 2].map(|()| Played::at("127.0.0.1:0", "127.0.0.1"));
    let (from_load, from_other) = (load.connect(2), other.connect(2));
    let mut dependencies = open_beside(load.address);
    let all = dependencies.all(&[]).dependencies;
    let is_named = |address: SocketAddr| all.iter().any(|each| each.address == address.to_string());
    assert!(!is_named(load.address) && is_named(other.address));
    for pair in from_load.iter().chain(&from_other) {
        assert!(!is_named(pair.near.local_addr().unwrap()));
    }
}

#[test]
fn who_listens_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let unix = UnixListener::bind(&path).unwrap();
    let stream = UnixStream::connect(&path).unwrap();
    let played = Played::at("0.0.0.0:0", "127.0.0.1");
    let pool = played.connect(1);
    let mut dependencies = open();
    let all = dependencies.all(&[]).dependencies;
    let unix_address = format!("unix:{}", path.display());
    for address in [played.address.to_string(), unix_address.clone()] {
        let named = all.iter().find(|each| each.address == address).unwrap();
        assert_eq!(
            named.listeners.iter().map(|holder| holder.pid).collect::<Vec<_>>(),
            [own_pid()],
            "{address}"
        );
        assert_eq!(named.is_unix, address == unix_address);
    }
    drop((stream, unix, pool));
}

#[test]
fn a_connection_over_a_unix_socket_is_counted_and_what_it_waits_for_is_not_guessed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("database");
    let listener = UnixListener::bind(&path).unwrap();
    let mut near = UnixStream::connect(&path).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let peer = Peer::Unix(path.to_str().unwrap().into());
    let mut dependencies = open();
    let mut both = || [true, false].map(|is_survey| read(&mut dependencies, &peer, is_survey));
    let unknown = Found { unknown: 1, ..Found::default() };
    assert_eq!(both(), [unknown; 2]);
    near.write_all(b"?").unwrap();
    assert_eq!(both(), [Found { waiting: 1, ..Found::default() }; 2]);
    far.read_exact(&mut [0]).unwrap();
    assert_eq!(both(), [unknown; 2]);
    far.write_all(b"!").unwrap();
    assert_eq!(both(), [Found { idle: 1, ..Found::default() }; 2]);
}

#[test]
fn what_cannot_be_read_has_its_reason() {
    assert!(why_none(7, &Held { refused: 1, ..Held::default() }).contains("another user"));
    let mut child = std::process::Command::new("true").spawn().unwrap();
    let pid = child.id() as Pid;
    child.wait().unwrap();
    let address = Address::Tcp("127.0.0.1:1".parse().unwrap());
    let why = Dependencies::open(pid, &address).err().unwrap();
    assert_eq!(why, format!("process {pid} is not there, or hidden from this user"));
    let mut dependencies = open();
    assert!(dependencies.unread().is_empty());
    dependencies.refused_max = 2;
    dependencies.no_unix = Some("it is not there".into());
    let fields: Vec<_> = dependencies.unread().into_iter().map(|(field, _)| field).collect();
    assert_eq!(fields, ["connections", "unix"]);
}

#[test]
fn of_several_listeners_those_that_take_the_connection_are_meant() {
    let listener = |local: &str, inode| Listener { local: local.parse().unwrap(), inode };
    let listeners = [
        listener("127.0.0.1:80", 1),
        listener("[::]:80", 2),
        listener("0.0.0.0:80", 3),
        listener("[::]:90", 4),
        listener("127.0.0.1:100", 5),
        // They share it.
        listener("127.0.0.1:100", 6),
    ];
    let at = |address: &str| listeners_at(address.parse().unwrap(), &listeners);
    assert_eq!((at("127.0.0.1:80"), at("10.0.0.1:80"), at("[::1]:80")), (vec![1], vec![3], vec![2]));
    assert_eq!((at("10.0.0.1:90"), at("10.0.0.1:100"), at("10.0.0.1:70")), (vec![4], vec![], vec![]));
    assert_eq!(at("127.0.0.1:100"), [5, 6]);
}

#[test]
fn a_dependency_is_used_if_it_is_asked_while_it_is_read() {
    let played: [Played; 5] = std::array::from_fn(|_| Played::at("127.0.0.1:0", "127.0.0.1"));
    let [idle, asked, waited_for, closed, new] = &played;
    let mut pools = [idle, asked, waited_for, closed].map(|played| played.connect(1));
    for pool in &mut pools {
        pool[0].ask();
        thread::sleep(LATER);
        pool[0].answer();
    }
    pools[2][0].ask();
    let mut dependencies = open();
    pools[1][0].ask();
    pools[1][0].answer();
    // The kernel counts the end of a connection as a byte that came.
    pools[3][0].far.shutdown(Shutdown::Write).unwrap();
    let later = new.connect(1);
    dependencies.read(true, false).unwrap();
    let is_used = |played: &Played| dependencies.peers.known(&Peer::Tcp(played.address)).unwrap().is_used;
    assert_eq!([idle, asked, waited_for, closed, new].map(is_used), [false, true, true, false, true]);
    drop(later);
}
