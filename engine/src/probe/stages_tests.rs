use super::*;
use rand::SeedableRng;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

const ANY_MOST: usize = 64;

/// Reads the stage of a request of each client, which was sent.
fn reading(listener: &TcpListener, clients: &[TcpStream]) -> (Stages, Arc<Board>) {
    let board = Arc::new(Board::new(clients.len()));
    for (user, client) in clients.iter().enumerate() {
        let user = user as u32;
        board.connecting(user);
        board.opened_from(user, Local { source: 0, port: client.local_addr().unwrap().port() });
        board.sent(user);
    }
    let mut server = listener.local_addr().unwrap();
    if server.ip().is_unspecified() {
        server.set_ip(clients[0].peer_addr().unwrap().ip());
    }
    let stages = Stages::open(&Address::Tcp(server), &[], vec![Arc::clone(&board)], random());
    (stages.unwrap_or_else(|why| panic!("{why}")), board)
}

fn random() -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(1)
}

fn connected(listener: &TcpListener, clients: usize) -> Vec<TcpStream> {
    let port = listener.local_addr().unwrap().port();
    let to = if listener.local_addr().unwrap().is_ipv4() { "127.0.0.1" } else { "::1" };
    (0..clients).map(|_| TcpStream::connect((to, port)).unwrap()).collect()
}

#[test]
fn requests_are_counted_where_they_are() {
    for address in ["127.0.0.1:0", "[::1]:0", "[::]:0"] {
        let listener = TcpListener::bind(address).unwrap();
        let mut clients = connected(&listener, 10);
        clients.iter_mut().for_each(|client| client.write_all(b"question").unwrap());
        // Connections are accepted in the order in which they came: 4 of 10 are not accepted, 3 are unread, 2 are
        // inside, and one is answered.
        let mut servers: Vec<TcpStream> = (0..6).map(|_| listener.accept().unwrap().0).collect();
        servers[3..].iter_mut().for_each(|server| server.read_exact(&mut [0; 8]).unwrap());
        servers[5].write_all(b"answer").unwrap();
        let (mut stages, _) = reading(&listener, &clients);
        let seen = stages.read(ANY_MOST).unwrap();
        let expected = Reading {
            in_flight: 10,
            drawn: 10,
            not_accepted: 4,
            unread: 3,
            inside: 2,
            returning: 1,
            ..Reading::default()
        };
        assert_eq!(seen, expected, "{address}");
        assert_eq!(stages.doubt(), None);
    }
}

#[test]
fn clients_by_ipv4_of_a_listener_for_both_families_are_found() {
    let listener = TcpListener::bind("[::]:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let clients = [TcpStream::connect(("127.0.0.1", port)).unwrap()];
    let (mut stages, _) = reading(&listener, &clients);
    assert_eq!(stages.read(ANY_MOST).unwrap().not_accepted, 1);
    let accepted = listener.accept().unwrap();
    assert_eq!(stages.read(ANY_MOST).unwrap().inside, 1);
    drop(accepted);
}

#[test]
fn the_kernel_s_queue_is_full() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&listener, 1).unwrap();
    let address = Address::Tcp(listener.local_addr().unwrap());
    let sockets: Vec<_> = (0..8).map(|_| address.connect(None, false, false).unwrap()).collect();
    let board = Arc::new(Board::new(sockets.len()));
    for (user, socket) in sockets.iter().enumerate() {
        board.connecting(user as u32);
        let port = crate::socket::local(socket).unwrap().port();
        board.opened_from(user as u32, Local { source: 0, port });
    }
    let mut stages = Stages::open(&address, &[], vec![board], random()).unwrap();
    let seen = stages.read(ANY_MOST).unwrap();
    assert_eq!((seen.drawn, seen.not_accepted), (8, 8));
    assert_eq!(stages.doubt(), None);
}

#[test]
fn a_connection_that_is_accepted_before_its_request_is_sent_waits_for_the_engine() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = connected(&listener, 2);
    let (mut stages, board) = reading(&listener, &clients);
    let accepted = [listener.accept().unwrap(), listener.accept().unwrap()];
    board.connecting(0);
    board.opened_from(0, Local { source: 0, port: clients[0].local_addr().unwrap().port() });
    board.ended(1);
    board.sending(1);
    assert_eq!(stages.read(ANY_MOST).unwrap().unsent, 2);
    drop(accepted);
}

#[test]
fn a_long_request_that_the_server_does_not_read_is_unread() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut clients = connected(&listener, 1);
    let (mut stages, _) = reading(&listener, &clients);
    let (accepted, _) = listener.accept().unwrap();
    clients[0].set_nonblocking(true).unwrap();
    while clients[0].write(&[0; 65_536]).is_ok() {}
    assert_eq!(stages.read(ANY_MOST).unwrap().unread, 1);
    drop(accepted);
}

#[test]
fn an_answer_that_the_engine_has_not_counted_is_on_the_way_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = connected(&listener, 1);
    let (mut stages, board) = reading(&listener, &clients);
    let accepted = listener.accept().unwrap();
    assert_eq!(stages.read(ANY_MOST).unwrap().inside, 1);
    board.over(0);
    assert_eq!(stages.read(ANY_MOST).unwrap().returning, 1);
    drop(accepted);
}

#[test]
fn an_answer_that_is_read_in_part_is_inside_until_the_server_writes_the_rest() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut clients = connected(&listener, 1);
    let (mut stages, _) = reading(&listener, &clients);
    let (mut accepted, _) = listener.accept().unwrap();
    accepted.write_all(b"a part").unwrap();
    assert_eq!(stages.read(ANY_MOST).unwrap().returning, 1);
    clients[0].read_exact(&mut [0; 6]).unwrap();
    assert_eq!(stages.read(ANY_MOST).unwrap().inside, 1);
    accepted.set_nonblocking(true).unwrap();
    while accepted.write(&[0; 65_536]).is_ok() {}
    assert_eq!(stages.read(ANY_MOST).unwrap().returning, 1);
}

#[test]
fn when_the_server_has_closed_its_end_the_answer_is_on_the_way_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = connected(&listener, 1);
    let (mut stages, _) = reading(&listener, &clients);
    let (accepted, _) = listener.accept().unwrap();
    accepted.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(stages.read(ANY_MOST).unwrap().returning, 1);
    drop(accepted);
    assert_eq!(stages.read(ANY_MOST).unwrap().returning, 1);
}

#[test]
fn what_the_engine_has_not_read_before_a_reset_is_on_the_way_back() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut clients = connected(&listener, 2);
    let (mut stages, _) = reading(&listener, &clients);
    let mut accepted: Vec<TcpStream> = (0..2).map(|_| listener.accept().unwrap().0).collect();
    clients.iter_mut().for_each(|client| client.write_all(b"question").unwrap());
    accepted[1].write_all(b"answer").unwrap();
    // A connection that is closed before all of it was read is reset, and the kernel forgets the server's end.
    accepted.clear();
    assert_eq!(stages.read(ANY_MOST).unwrap().returning, 2);
}

#[test]
fn of_many_requests_some_are_drawn_and_each_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = connected(&listener, 40);
    let (mut stages, board) = reading(&listener, &clients);
    let seen = stages.read(7).unwrap();
    assert_eq!((seen.in_flight, seen.drawn, seen.not_accepted), (40, 7, 7));
    assert_eq!(stages.read(ANY_MOST).unwrap().drawn, 40);
    (1..40).for_each(|user| board.ended(user));
    let seen = stages.read(ANY_MOST).unwrap();
    assert_eq!((seen.in_flight, seen.drawn), (1, 1));
    board.ended(0);
    assert_eq!(stages.read(ANY_MOST).unwrap(), Reading::default());
}

#[test]
fn the_only_request_of_many_users_is_found_at_every_reading() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Address::Tcp(listener.local_addr().unwrap());
    for users in [1, 2, 1_000, 5_000] {
        let board = Arc::new(Board::new(users));
        board.connecting(users as u32 / 3);
        let mut stages = Stages::open(&server, &[], vec![board], random()).unwrap();
        for _ in 0..40 {
            assert_eq!(stages.read(ANY_MOST).unwrap().not_accepted, 1, "of {users}");
        }
    }
}

#[test]
fn each_request_in_flight_is_as_likely_to_be_drawn_as_another() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = Address::Tcp(listener.local_addr().unwrap());
    for (one, other) in [(0, 1), (7, 2_507), (7, 4_999)] {
        let board = Arc::new(Board::new(5_000));
        board.connecting(one);
        board.connecting(other);
        board.over(other);
        let mut stages = Stages::open(&server, &[], vec![board], random()).unwrap();
        let found: u64 = (0..400).map(|_| stages.read(1).unwrap().returning).sum();
        // Ten standard deviations of 400 draws, to either side.
        assert!((100..=300).contains(&found), "{found} of 400 for {one} and {other}");
    }
}

#[test]
fn all_users_have_their_turn_once() {
    let mut random = random();
    for users in [1, 2, 6, 97, 1_000] {
        let mut order: Vec<usize> = (0..users).collect();
        for _ in 0..3 {
            let mut all: Vec<usize> = (0..users).map(|asked| turn(&mut order, asked, &mut random)).collect();
            all.sort_unstable();
            assert_eq!(all, (0..users).collect::<Vec<_>>());
        }
    }
}

#[test]
fn what_cannot_be_read_has_its_reason() {
    let open = |address: &str| {
        let address = Address::Tcp(address.parse().unwrap());
        Stages::open(&address, &[], vec![Arc::new(Board::new(1))], random()).err().unwrap()
    };
    // No machine is in this network (RFC 5737).
    assert!(open("192.0.2.7:80").contains("192.0.2.7 is no address of this machine"));
    assert!(open("127.0.0.1:1").contains("nobody listens at 127.0.0.1:1 in this network namespace"));
    let unix = Address::Unix(rustix::net::SocketAddrUnix::new("/tmp/no-such").unwrap());
    let why = Stages::open(&unix, &[], vec![], random()).err().unwrap();
    assert!(why.contains("Unix socket"), "{why}");
}

/// As it is with a server behind an address translation: somebody listens here, and the connections end elsewhere.
#[test]
fn connections_that_end_nowhere_here_are_not_taken_for_those_that_wait() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let clients = connected(&elsewhere, 3);
    let (mut stages, _) = reading(&listener, &clients);
    assert_eq!(stages.read(ANY_MOST).unwrap().drawn, 3);
    assert!(stages.doubt().unwrap().contains("none of the connections ends at"));
}

#[test]
fn the_address_of_all_is_this_machine() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let clients = [TcpStream::connect(("127.0.0.1", port)).unwrap()];
    let board = Arc::new(Board::new(1));
    board.connecting(0);
    board.opened_from(0, Local { source: 0, port: clients[0].local_addr().unwrap().port() });
    let server = Address::Tcp(SocketAddr::from(([0, 0, 0, 0], port)));
    let mut stages = Stages::open(&server, &[], vec![board], random()).unwrap();
    let seen = stages.read(ANY_MOST).unwrap();
    assert_eq!((seen.not_accepted, stages.doubt()), (1, None));
}
