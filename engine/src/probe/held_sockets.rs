//! Which sockets processes hold (`/proc/PID/fd`), as far as this process may read that: those of its own user.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::PathBuf;

use super::all_processes::pids;
use crate::process_tree::{Pid, name, with_descendants_of};

/// The sockets of a process tree.
#[derive(Debug, Default)]
pub struct Held {
    /// The inodes of sockets.
    pub sockets: BTreeSet<u32>,
    /// Processes whose sockets were read.
    pub read: Vec<Pid>,
    /// Processes whose sockets this process may not read.
    pub refused: u64,
    /// Processes whose sockets are in another network namespace than those of the root.
    pub elsewhere: u64,
}

/// A process, and how it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: Pid,
    pub name: String,
}

impl Held {
    pub fn by_tree(root: Pid) -> Self {
        let mut held = Self::default();
        let own = namespace_of(root);
        for pid in with_descendants_of(&[root]) {
            match sockets_of(pid) {
                // Whose sockets may be read, its namespace may be, too.
                Ok(_) if namespace_of(pid) != own => {
                    held.elsewhere += 1;
                }
                Ok(sockets) => {
                    held.read.push(pid);
                    held.sockets.extend(sockets);
                }
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => held.refused += 1,
                // It has ended.
                Err(_) => {}
            }
        }
        held
    }
}

/// Returns the inodes of the sockets that these processes hold.
pub fn held_by(pids: &[Pid]) -> BTreeSet<u32> {
    pids.iter().flat_map(|&pid| sockets_of(pid).unwrap_or_default()).collect()
}

/// Which processes hold sockets, as far as they may be read.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// Of each socket, the one with the lowest id first.
    pub by_socket: BTreeMap<u32, Vec<Holder>>,
    /// Processes whose sockets this process may not read.
    pub refused: BTreeSet<Pid>,
}

/// Returns which processes hold these sockets. It walks all processes of the machine.
pub fn holders(sockets: &BTreeSet<u32>) -> Holders {
    let mut holders = Holders::default();
    if sockets.is_empty() {
        return holders;
    }
    for pid in pids() {
        let held = match sockets_of(pid) {
            Ok(held) => held,
            Err(error) => {
                if error.kind() == io::ErrorKind::PermissionDenied {
                    holders.refused.insert(pid);
                }
                continue;
            }
        };
        for inode in BTreeSet::from_iter(held).intersection(sockets) {
            let Some(name) = name(pid) else {
                continue;
            };
            let holder = Holder { pid, name };
            holders.by_socket.entry(*inode).or_default().push(holder);
        }
    }
    holders
}

/// Returns the inodes of the sockets that a process holds.
///
/// # Errors
/// If they may not be read, or it has ended.
pub fn sockets_of(pid: Pid) -> io::Result<Vec<u32>> {
    let mut sockets = Vec::new();
    for descriptor in fs::read_dir(format!("/proc/{pid}/fd"))?.flatten() {
        match fs::read_link(descriptor.path()) {
            Ok(link) => sockets.extend(link.to_str().and_then(inode)),
            // Of a process with more capabilities only the numbers of its descriptors may be read.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Err(error),
            // It was closed in the meantime.
            Err(_) => {}
        }
    }
    Ok(sockets)
}

fn inode(link: &str) -> Option<u32> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

fn namespace_of(pid: Pid) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/ns/net")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsRawFd;
    use std::process::{Command, Stdio};

    #[test]
    fn links_of_sockets_have_their_inode() {
        assert_eq!(inode("socket:[4711]"), Some(4711));
        assert_eq!((inode("pipe:[4711]"), inode("/dev/null"), inode("socket:[")), (None, None, None));
    }

    #[test]
    fn a_socket_is_found_with_its_holder() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let link = fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        let inode = inode(link.to_str().unwrap()).unwrap();
        let pid = std::process::id() as Pid;
        let held = Held::by_tree(pid);
        assert!(held_by(&held.read).contains(&inode) && held_by(&[]).is_empty());
        assert!(held.sockets.contains(&inode) && held.read.contains(&pid), "{held:?}");
        assert_eq!((held.refused, held.elsewhere), (0, 0));
        let name = fs::read_to_string("/proc/self/comm").unwrap();
        let expected = Holder { pid, name: name.trim_end().into() };
        let found = holders(&BTreeSet::from([inode]));
        assert_eq!(found.by_socket, BTreeMap::from([(inode, vec![expected])]));
        assert!(!found.refused.contains(&pid));
        assert_eq!(holders(&BTreeSet::new()), Holders::default());
    }

    #[test]
    fn of_processes_that_have_ended_nothing_is_read() {
        let mut child = Command::new("true").stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id() as Pid;
        child.wait().unwrap();
        let held = Held::by_tree(pid);
        assert_eq!((held.read.len(), held.refused, held.elsewhere, held.sockets.len()), (0, 0, 0, 0));
    }
}
