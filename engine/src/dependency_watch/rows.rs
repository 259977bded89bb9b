//! Which readings of the dependencies count, and what they come to in the record.

use serde::{Deserialize, Serialize};

use crate::probe::dependencies::{All, Dependency, Reading};
use crate::probe::ends::Ends;
use crate::probe::peers::Found;
use crate::probe::schedstat;
use crate::probe::serving::{Asked, Spent};
use crate::process_tree::Pid;
use crate::record::{DependencyRecord, ListenerRecord, PeerRecord, Unread};

pub const PEERS_MOST: usize = 16;

/// A reading: when it began since the first instant, how much later than due, what it cost, and what it found.
#[derive(Clone, Serialize, Deserialize)]
pub struct Row {
    pub at_ns: u64,
    pub late_ns: u64,
    pub cost_ns: u64,
    /// Whether it was taken at a random time, and has a place in the record: not at an end of the measured phase, for instance.
    pub counts: bool,
    pub reading: Reading,
}

/// Takes over to earlier readings what later ones have told of them.
pub fn take_over(rows: &mut [Row]) {
    let settled: Vec<_> = rows.iter_mut().flat_map(|row| std::mem::take(&mut row.reading.settled)).collect();
    for settled in settled {
        // The reading that found the first connections has no row.
        let (from, until) = (settled.from.max(1) as usize - 1, settled.until.max(1) as usize - 1);
        for row in rows.iter_mut().take(until).skip(from) {
            settled.apply(&mut row.reading.found);
        }
    }
}

/// Returns the readings that count: all surveys at random times, and of the others those between two surveys that found the same
/// connections. Otherwise they may have missed some.
pub fn counting(rows: Vec<Row>) -> Vec<Row> {
    let (mut counted, mut waiting) = (Vec::new(), Vec::new());
    for row in rows {
        if !row.reading.is_survey {
            waiting.push(row);
            continue;
        }
        if !row.reading.has_changed {
            counted.append(&mut waiting);
        }
        waiting.clear();
        counted.push(row);
    }
    counted.retain(|row| row.counts);
    counted
}

impl DependencyRecord {
    /// Nothing was read; `why` not.
    pub fn unread(why: String) -> Self {
        Self { why: Some(why), ..Self::default() }
    }

    pub fn add_peers(&mut self, all: &All, rows: &[Row]) {
        let of = |dependency| (PeerRecord::of(dependency, all, rows), dependency);
        let mut peers: Vec<_> = all.dependencies.iter().map(of).collect();
        peers.retain(|(peer, _)| peer.connections_max > 0);
        peers.sort_by_key(|(peer, _)| std::cmp::Reverse(peer.connections_max));
        if let Some((first, _)) = peers.get(PEERS_MOST) {
            let (more, most) = (peers.len() - PEERS_MOST, first.connections_max);
            let why = format!("{more} more had at most {most} connections each");
            self.unread.push(Unread { field: "peers".into(), why });
        }
        peers.truncate(PEERS_MOST);
        for (mut peer, dependency) in peers {
            self.unread.extend(peer.doubts(dependency));
            self.peers.push(peer);
        }
    }

    /// Adds the CPU time of those who serve the dependencies. `root`: that of the server's process tree.
    pub fn add_serving(&mut self, ends: &Ends, all: &All, root: Pid) {
        let used = || all.dependencies.iter().filter(|dependency| dependency.known.is_used);
        let holders = used().flat_map(|dependency| &dependency.listeners).map(|holder| holder.pid);
        let mut apart = all.own.clone();
        apart.extend([root, std::process::id() as Pid]);
        let mut asked = Asked { holders: holders.collect(), apart, refused: all.refused.clone() };
        let serving = ends.serving(&asked);
        self.serving_cpu_ns = serving.as_ref().map(|spent| spent.cpu_ns);
        self.serving_span_ns = ends.span_ns();
        let by_threads =
            serving.as_ref().and_then(|spent| spent.by_threads).filter(|_| schedstat::is_counted());
        self.serving_run_queue_ns = by_threads.map(|used| used.run_queue_ns);
        self.serving_run_queue_cpu_ns = by_threads.map(|used| used.cpu_ns);
        self.serving_pids = serving.into_iter().flat_map(|spent| spent.pids).collect();
        let unfound: Vec<&str> =
            used().filter(|each| each.is_unfound()).map(|each| each.address.as_str()).collect();
        let refused = if unfound.is_empty() {
            self.serving_cpu_ns.map(|_| Spent::default())
        } else {
            ends.refused(&asked)
        };
        // If the server was seen to ask a dependency, the missed connections are more likely somebody else's.
        let perhaps = if used().next().is_none() {
            asked.holders.clone_from(&all.perhaps);
            ends.serving(&asked)
        } else {
            Some(Spent::default())
        };
        let perhaps_ns = perhaps.as_ref().map(|spent| spent.cpu_ns);
        self.unfound_cpu_ns =
            refused.as_ref().zip(perhaps_ns).map(|(refused, perhaps)| refused.cpu_ns + perhaps);
        self.unfound_pids = refused.into_iter().chain(perhaps).flat_map(|spent| spent.pids).collect();
        let mut add = |why| self.unread.push(Unread { field: "serving_cpu_ns".into(), why });
        if !unfound.is_empty() {
            add(format!(
                "who serves {} could not be found: run as the user that does",
                unfound.join(" and ")
            ));
        }
        if perhaps_ns.is_some_and(|perhaps_ns| perhaps_ns > 0) {
            add("connections were closed before it was known whether they were the server's: measure for longer".into());
        }
    }
}

impl PeerRecord {
    fn of(dependency: &Dependency, all: &All, rows: &[Row]) -> Self {
        let found = |row: &Row| row.reading.found.get(dependency.number).copied().unwrap_or_default();
        let mut found: Vec<Found> = rows.iter().map(found).collect();
        let are_the_servers = dependency.known.somebodys_are_ours();
        let inferred = found.iter_mut().map(|found| found.close_account(are_the_servers)).collect();
        let column = |count: fn(&Found) -> u64| -> Vec<u64> { found.iter().map(count).collect() };
        let connections = column(Found::connections);
        Self {
            address: dependency.address.clone(),
            listener: dependency.listeners.first().map(|holder| ListenerRecord {
                pid: holder.pid,
                name: holder.name.clone(),
                own: dependency.listeners.iter().any(|holder| all.own.contains(&holder.pid)),
            }),
            connections_max: connections.iter().copied().max().unwrap_or_default(),
            connections,
            waiting: column(|found| found.waiting),
            idle: column(|found| found.idle),
            unknown: column(|found| found.unknown),
            inferred,
        }
    }

    /// Returns what is not known of this peer, and why. Sets to unknown what is not certain.
    fn doubts(&mut self, dependency: &Dependency) -> Vec<Unread> {
        let mut doubts = Vec::new();
        let mut add = |column: &str, why: &str| {
            doubts.push(Unread { field: format!("{} {column}", dependency.address), why: why.into() });
        };
        let known = dependency.known;
        if dependency.is_unfound() {
            add("listener", "no process of this user listens there");
        }
        if !known.answers() {
            add(
                "waiting",
                "the server sends more there before anything has come: nothing tells what it waits for",
            );
            for (waiting, unknown) in self.waiting.iter_mut().zip(&mut self.unknown) {
                *unknown += std::mem::take(waiting);
            }
        } else if dependency.is_unix && self.unknown.iter().any(|&unknown| unknown > 0) {
            add(
                "waiting",
                "of a Unix-domain socket the kernel says what lies in it, not when something was sent",
            );
        }
        doubts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::process::Command;
    use std::time::Duration;

    use super::*;
    use crate::probe::ends::End;
    use crate::probe::held_sockets::Holder;
    use crate::probe::peers::{Known, Settled};
    use crate::probe::rests::Rests;
    use crate::tried::until_shown;

    /// A reading at this time with so many connections of the first peer waiting.
    fn row(at_ns: u64, is_survey: bool, has_changed: bool, waiting: u64) -> Row {
        let found = vec![Found { waiting, ..Found::default() }];
        Row {
            at_ns,
            late_ns: 0,
            cost_ns: 0,
            counts: true,
            reading: Reading { is_survey, has_changed, found, ..Reading::default() },
        }
    }

    fn dependency(number: usize, known: Known) -> Dependency {
        Dependency {
            address: format!("10.0.0.1:{number}"),
            number,
            known,
            is_unix: false,
            listeners: Vec::new(),
        }
    }

    fn all(dependencies: Vec<Dependency>) -> All {
        All { dependencies, own: [7].into(), refused: [8].into(), perhaps: BTreeSet::new() }
    }

    #[test]
    fn a_listener_of_the_servers_own_tree_is_marked() {
        let own = |pids: &[Pid]| {
            let listeners = pids.iter().map(|&pid| Holder { pid, name: "worker".into() }).collect();
            let dependency = Dependency { listeners, ..dependency(0, Known::default()) };
            PeerRecord::of(&dependency, &all(vec![]), &[]).listener.map(|listener| listener.own)
        };
        assert_eq!((own(&[]), own(&[6]), own(&[6, 7])), (None, Some(false), Some(true)));
    }

    #[test]
    fn who_serves_and_is_not_found_is_named_if_it_was_asked() {
        let end = || End::read(&mut Rests::none());
        let mut ends = Ends::default();
        ends.begin(end());
        ends.close(end());
        let with = |is_used| {
            let known = Known { is_here: true, is_used, ..Known::default() };
            let mut record = DependencyRecord::default();
            record.add_serving(&ends, &all(vec![dependency(3, known)]), 7);
            assert_eq!(record.serving_cpu_ns, Some(0));
            (record.unfound_cpu_ns, record.unread.into_iter().map(|unread| unread.why).collect::<Vec<_>>())
        };
        let why = "who serves 10.0.0.1:3 could not be found: run as the user that does";
        assert_eq!(with(false), (Some(0), vec![]));
        assert_eq!(with(true).1, [why]);
    }

    #[test]
    fn who_may_serve_what_was_closed_too_early_is_neither_counted_nor_forgotten() {
        // Its parent ends, so that it is not of this process's tree, which does not count.
        let script = "timeout 20 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!";
        let said = Command::new("sh").args(["-c", script]).output().unwrap().stdout;
        let busy: Pid = String::from_utf8(said).unwrap().trim().parse().unwrap();
        until_shown(|| {
            let end = || End::read(&mut Rests::none());
            let mut ends = Ends::default();
            ends.begin(end());
            std::thread::sleep(Duration::from_millis(100));
            ends.close(end());
            let with = |perhaps: &[Pid], is_used| {
                let perhaps = perhaps.iter().copied().collect();
                let asked = dependency(3, Known { is_used, ..Known::default() });
                let all = All { perhaps, ..all(vec![asked]) };
                let mut record = DependencyRecord::default();
                record.add_serving(&ends, &all, 7);
                assert_eq!(record.serving_cpu_ns, Some(0));
                (record.unfound_cpu_ns.unwrap() > 0, record.unread.len(), record.unfound_pids.len())
            };
            let computed = with(&[busy], false);
            if computed == (false, 0, 0) {
                return Err("no CPU time was counted in 100 ms".into());
            }
            // The shell that `timeout` has started is what computes.
            let found = [with(&[], false), computed, with(&[busy], true)];
            assert_eq!(found, [(false, 0, 0), (true, 1, 1), (false, 0, 0)]);
            Ok(())
        });
        let busy = rustix::process::Pid::from_raw(busy).unwrap();
        rustix::process::kill_process(busy, rustix::process::Signal::TERM).unwrap();
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
        let at = |rows| -> Vec<u64> { counting(rows).iter().map(|row| row.at_ns).collect() };
        assert_eq!(at(rows()), [1, 2, 3, 6]);
        // One at the end shows whether those before it count, and does not count itself.
        let end = |has_changed| Row { counts: false, ..row(8, true, has_changed, 1) };
        assert_eq!(at([rows(), vec![end(true)]].concat()), [1, 2, 3, 6]);
        assert_eq!(at([rows(), vec![end(false)]].concat()), [1, 2, 3, 6, 7]);
        // A survey that was not at a random time shows whether the readings before it count, and does not count itself.
        let mut rows = rows();
        rows[2].counts = false;
        assert_eq!(at(rows), [1, 2, 6]);
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
        let settled = |from, until, is_waiting| Settled { peer: 0, from, until, is_waiting };
        rows[2].reading.settled = vec![settled(0, 3, true)];
        rows.push(Row { counts: false, ..unknown(5) });
        rows[4].reading.settled = vec![settled(2, 5, false)];
        take_over(&mut rows);
        rows.truncate(4);
        let found: Vec<_> = rows
            .iter()
            .map(|row| row.reading.found[0])
            .map(|each| (each.waiting, each.idle, each.unknown))
            .collect();
        assert_eq!(found, [(1, 0, 1), (1, 1, 0), (0, 1, 1), (0, 1, 1)]);
    }

    #[test]
    fn the_sixteen_with_the_most_connections_are_recorded_and_the_others_named() {
        let mut rows = vec![row(1, true, true, 0)];
        rows[0].reading.found =
            (0..20).map(|number| Found { idle: 20 - number, ..Found::default() }).collect();
        rows.push(row(2, true, true, 5));
        let dependencies: Vec<_> = (0..21).map(|number| dependency(number, Known::default())).collect();
        let mut record = DependencyRecord::default();
        record.add_peers(&all(dependencies), &rows);
        assert_eq!(record.peers.len(), 16);
        let first = &record.peers[0];
        assert_eq!((first.address.as_str(), first.connections_max), ("10.0.0.1:0", 20));
        assert_eq!((&first.connections[..], &first.idle[..]), (&[20, 5][..], &[20, 0][..]));
        assert_eq!((&first.waiting[..], &first.unknown[..]), (&[0, 5][..], &[0, 0][..]));
        assert_eq!(record.peers[15].connections, [5, 0]);
        assert_eq!(record.unread[0].why, "4 more had at most 4 connections each");
    }

    #[test]
    fn what_is_sent_without_an_answer_is_not_taken_for_waiting() {
        let rows = [row(1, true, true, 3), row(2, true, false, 2)];
        let of = |not_answered, answered| {
            let dependency = dependency(0, Known { not_answered, answered, ..Known::default() });
            let mut peer = PeerRecord::of(&dependency, &all(vec![]), &rows);
            let doubts = peer.doubts(&dependency);
            (peer.waiting, peer.unknown, doubts.len())
        };
        assert_eq!(of(3, 2), (vec![0, 0], vec![3, 2], 1));
        // A question in parts is sent on before it is answered, now and then.
        assert_eq!(of(3, 3), (vec![3, 2], vec![0, 0], 0));
        assert_eq!(of(2, 1), (vec![3, 2], vec![0, 0], 0));
    }

    #[test]
    fn connections_closed_too_early_are_counted_as_inferred_or_as_unknown() {
        let mut rows = [row(1, true, true, 3)];
        rows[0].reading.found[0].waiting_of_somebody = 2;
        let of = |ours| {
            let dependency = dependency(0, Known { ours, ..Known::default() });
            let peer = PeerRecord::of(&dependency, &all(vec![]), &rows);
            (peer.connections[0], peer.waiting[0], peer.unknown[0], peer.inferred[0])
        };
        assert_eq!((of(30), of(29)), ((5, 5, 0, 2), (5, 3, 2, 0)));
    }

    #[test]
    fn who_listens_on_this_machine_and_is_not_found_is_named() {
        let mut here = dependency(0, Known { is_here: true, ..Known::default() });
        let doubts = PeerRecord::of(&here, &all(vec![]), &[]).doubts(&here);
        assert_eq!(doubts[0].field, "10.0.0.1:0 listener");
        here.known.is_here = false;
        assert!(PeerRecord::of(&here, &all(vec![]), &[]).doubts(&here).is_empty());
    }
}
