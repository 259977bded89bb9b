//! Whether the program that is loaded is the one that is watched. If a proxy is in front of a server, the connections of the load
//! are the proxy's.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use super::held_sockets::sockets_of;
use super::namespace::Namespace;
use super::netlink::Netlink;
use super::stat::Stat;
use super::tcp_table::{listeners, listeners_at};
use crate::process_tree::{Pid, with_descendants_of};

/// Checks that requests which are found at `server` have come to the tree of `root`, as far as that can be read.
///
/// # Errors
/// Another program listens there, in front of it: what is read would say how far requests have got in that one.
pub fn check(root: Pid, server: SocketAddr) -> Result<(), String> {
    if is_anothers(root, server) {
        return Err(format!("another program than process {root} listens at {server}; watch that one"));
    }
    Ok(())
}

/// Returns whether another program than the tree of `root` listens at `server`, as far as that can be read.
///
/// A tree may have got its connections from a program that it descends from.
fn is_anothers(root: Pid, server: SocketAddr) -> bool {
    let sockets = Netlink::open_in(Namespace::of(Some(root)));
    let Ok(all) = sockets.and_then(|mut netlink| listeners(&mut netlink)) else {
        return false;
    };
    let listening: BTreeSet<u32> = listeners_at(server, &all).into_iter().collect();
    let tree = with_descendants_of(&[root]);
    let mut is_read = false;
    for pid in tree {
        match sockets_of(pid) {
            Ok(sockets) if sockets.iter().any(|inode| listening.contains(inode)) => return false,
            Ok(_) => is_read = true,
            // It may hold them.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => return false,
            Err(_) => {}
        }
    }
    is_read && !listening.is_empty() && !ancestors(root).any(|pid| holds(pid, &listening))
}

fn holds(pid: Pid, wanted: &BTreeSet<u32>) -> bool {
    sockets_of(pid).is_ok_and(|sockets| sockets.iter().any(|inode| wanted.contains(inode)))
}

/// The parent of a process, the parent's parent and so on.
fn ancestors(pid: Pid) -> impl Iterator<Item = Pid> {
    std::iter::successors(Some(pid), |&pid| parent(pid)).skip(1)
}

fn parent(pid: Pid) -> Option<Pid> {
    Stat::read(pid).map(|stat| stat.parent).filter(|&parent| parent > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_that_holds_the_listener_or_descends_from_one_that_does_is_loaded() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let mut child = Command::new("sleep").arg("30").stdout(Stdio::null()).spawn().unwrap();
        assert!(!is_anothers(std::process::id() as Pid, server));
        assert!(!is_anothers(child.id() as Pid, server));
        child.kill().unwrap();
        child.wait().unwrap();
        // Of a process that has ended nothing is known.
        assert!(!is_anothers(child.id() as Pid, server));
    }

    #[test]
    fn a_process_that_has_nothing_to_do_with_the_listener_is_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let mut orphan = Command::new("sh")
            .args(["-c", "sleep 30 >/dev/null & echo $!"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        std::io::Read::read_to_string(orphan.stdout.as_mut().unwrap(), &mut said).unwrap();
        orphan.wait().unwrap();
        let pid: Pid = said.trim().parse().unwrap();
        // Unless this process inherits those whose parent has ended.
        let descends = ancestors(pid).any(|each| each == std::process::id() as Pid);
        assert_eq!(is_anothers(pid, server), !descends);
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
}
