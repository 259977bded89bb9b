use super::*;
use crate::probe::peers::Known;
use crate::probe::waits::{CLASSES, Waits, answered};

/// A reading at this time with so many connections of the first peer waiting.
fn row(at_ns: u64, is_survey: bool, has_changed: bool, waiting: u64) -> Row {
    let found = vec![Found { waiting, ..Found::default() }];
    Row {
        at_ns,
        late_ns: 0,
        cost_ns: 0,
        reading: Reading { is_survey, has_changed, found, ..Reading::default() },
    }
}

fn dependency(number: usize, known: Known) -> Dependency {
    Dependency { address: format!("10.0.0.1:{number}"), number, known, is_unix: false, listener: None }
}

#[test]
fn looks_count_where_the_surveys_around_them_agree() {
    let rows = || {
        vec![
            row(1, true, true, 1),
            row(2, false, false, 1),
            row(3, true, false, 1),
            row(4, false, false, 1),
            row(5, false, false, 1),
            row(6, true, true, 1),
            row(7, false, false, 1),
        ]
    };
    let at =
        |ends_stable| -> Vec<u64> { counting(rows(), ends_stable).iter().map(|row| row.at_ns).collect() };
    assert_eq!(at(false), [1, 2, 3, 6]);
    assert_eq!(at(true), [1, 2, 3, 6, 7]);
}

#[test]
fn what_later_readings_tell_is_taken_over_to_earlier_ones() {
    let unknown = |at_ns| {
        let mut row = row(at_ns, true, false, 0);
        row.reading.found = vec![Found { unknown: 2, ..Found::default() }];
        row
    };
    let mut rows: Vec<_> = (1..=4).map(unknown).collect();
    // The rows are those of the readings 1 to 4.
    let settled = |from, until, waits_ms| Settled { peer: 0, from, until, waits_ms };
    rows[2].reading.settled = vec![settled(0, 3, Some(50))];
    take_over(&mut rows, vec![settled(2, 5, None)]);
    let found: Vec<_> = rows
        .iter()
        .map(|row| row.reading.found[0])
        .map(|each| (each.waiting, each.idle, each.unknown))
        .collect();
    assert_eq!(found, [(1, 0, 1), (1, 1, 0), (0, 1, 1), (0, 1, 1)]);
    let ages: Vec<u64> = rows.iter().map(|row| row.reading.ages.iter().flatten().sum()).collect();
    assert_eq!(ages, [1, 1, 0, 0]);
}

#[test]
fn the_sixteen_with_the_most_connections_are_recorded_and_the_others_named() {
    let mut rows = vec![row(1, true, true, 0)];
    rows[0].reading.found = (0..20).map(|number| Found { idle: 20 - number, ..Found::default() }).collect();
    rows.push(row(2, true, true, 5));
    let known = Known { waits: answered(), ..Known::default() };
    let dependencies: Vec<_> = (0..21).map(|number| dependency(number, known)).collect();
    let mut record = DependencyRecord::default();
    record.add_peers(&dependencies, &rows, &[]);
    assert_eq!(record.peers.len(), 16);
    let first = &record.peers[0];
    assert_eq!((first.address.as_str(), first.connections_max), ("10.0.0.1:0", 20));
    assert_eq!((&first.connections[..], &first.idle[..]), (&[20, 5][..], &[20, 0][..]));
    assert_eq!((&first.waiting[..], &first.unknown[..]), (&[0, 5][..], &[0, 0][..]));
    assert_eq!(record.peers[15].connections, [5, 0]);
    assert_eq!(record.unread[0].why, "4 more had at most 4 connections each");
}

#[test]
fn what_only_seems_to_wait_is_unknown() {
    let mut rows = [row(1, true, true, 3), row(2, true, false, 2)];
    let mut ages = [0; CLASSES];
    (ages[0], ages[CLASSES - 1]) = (2, 1);
    rows[0].reading.ages = vec![ages];
    let of = |waits, is_unix| {
        let dependency =
            Dependency { is_unix, ..dependency(0, Known { waits, is_here: !is_unix, ..Known::default() }) };
        let mut peer = PeerRecord::of(&dependency, &rows);
        let doubts = peer.doubts(&dependency, &rows);
        (peer.waiting, peer.unknown, doubts.into_iter().map(|doubt| doubt.field).collect::<Vec<_>>())
    };
    let (waiting, listener) = ("10.0.0.1:0 waiting".to_owned(), "10.0.0.1:0 listener".to_owned());
    let all = (vec![0, 0], vec![3, 2], vec![listener.clone(), waiting.clone()]);
    assert_eq!(of(Waits::default(), false), all);
    assert_eq!(of(answered(), false), (vec![2, 2], vec![1, 0], vec![listener.clone(), waiting]));
    // What lies in a Unix-domain socket and is not read waits.
    assert_eq!(of(Waits::default(), true), (vec![3, 2], vec![0, 0], vec![listener]));
}

#[test]
fn of_a_peer_that_was_missed_it_is_not_known_how_many_wait() {
    let rows = [row(1, true, true, 3)];
    let known = Known { waits: answered(), ..Known::default() };
    let dependencies = [dependency(0, known), dependency(1, known), dependency(2, known)];
    let of = |number: usize, is_ours| Missed { address: format!("10.0.0.1:{number}"), number: 900, is_ours };
    let missed = [of(0, true), of(1, true), of(2, false)];
    let mut record = DependencyRecord::default();
    record.add_peers(&dependencies, &rows, &missed);
    let told: Vec<_> =
        record.peers.iter().map(|peer| (&peer.address[..], peer.waiting[0], peer.unknown[0])).collect();
    assert_eq!(told, [("10.0.0.1:0", 0, 3), ("10.0.0.1:1", 0, 0)]);
    let said: Vec<_> = missed.iter().map(said_of_missed).map(|unread| unread.field).collect();
    assert_eq!(said, ["10.0.0.1:0 connections", "10.0.0.1:1 connections", "peers"]);
    assert!(said_of_missed(&missed[2]).why.contains("somebody's with 10.0.0.1:2"));
}

#[test]
fn connections_closed_too_early_are_counted_as_inferred_or_as_unknown() {
    let mut rows = [row(1, true, true, 3)];
    rows[0].reading.found[0].waiting_of_somebody = 2;
    let of = |ours| {
        let peer = PeerRecord::of(&dependency(0, Known { ours, ..Known::default() }), &rows);
        (peer.connections[0], peer.waiting[0], peer.unknown[0], peer.inferred[0])
    };
    assert_eq!((of(30), of(29)), ((5, 5, 0, 2), (5, 3, 2, 0)));
}

#[test]
fn who_listens_on_this_machine_and_is_not_found_is_named() {
    let mut here = dependency(0, Known { is_here: true, ..Known::default() });
    let doubts = PeerRecord::of(&here, &[]).doubts(&here, &[]);
    assert_eq!(doubts[0].field, "10.0.0.1:0 listener");
    here.known.is_here = false;
    assert!(PeerRecord::of(&here, &[]).doubts(&here, &[]).is_empty());
}
