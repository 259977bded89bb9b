//! Reads sockets inside another network namespace, as that of a container. Sockets belong to the namespace in which they are
//! opened, so what is opened there by a thread that has entered it may be used by any thread later.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::linux::fs::MetadataExt;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::process_tree::Pid;

/// The network namespace of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// `None`: that of this process.
    of: Option<Pid>,
}

impl Namespace {
    pub const OWN: Self = Self { of: None };

    /// Returns that of process `pid`; of a process that has ended, that of this one.
    pub fn of(pid: Option<Pid>) -> Self {
        // Only who may trace a process may read the link in its ns/. But each namespace has tables of its own, and
        // everybody may see which file they are.
        let table = |of: &str| std::fs::metadata(format!("/proc/{of}/net/tcp")).map(|file| file.st_ino());
        let is_another = |pid: Pid| match (table("self"), table(&pid.to_string())) {
            (Ok(own), Ok(other)) => own != other,
            _ => false,
        };
        Self { of: pid.filter(|&pid| is_another(pid)) }
    }

    pub fn is_own(self) -> bool {
        self.of.is_none()
    }

    /// Returns what `open` returns in this namespace.
    ///
    /// # Errors
    /// If it may not be entered, which the message says with a remedy, or as `open` says.
    pub fn within<T: Send>(self, open: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        let Some(pid) = self.of else {
            return open();
        };
        let enter = || {
            let there = File::open(format!("/proc/{pid}/ns/net"))?;
            Ok(move_into_link_name_space(there.as_fd(), Some(LinkNameSpaceType::Network))?)
        };
        let inside = || {
            enter().map_err(|error| refused(pid, &error))?;
            open()
        };
        // A thread that has entered it cannot always come back, so it ends.
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|_| Err(io::Error::other("the thread that read there panicked")))
    }

    /// Returns where a table of this namespace is, as `tcp`. Entering it is not necessary to read it.
    pub fn table(self, name: &str) -> String {
        match self.of {
            None => format!("/proc/self/net/{name}"),
            Some(pid) => format!("/proc/{pid}/net/{name}"),
        }
    }
}

fn refused(pid: Pid, error: &io::Error) -> io::Error {
    let why = format!("process {pid} is in another network namespace");
    match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{why}, which only root may enter: run crumple with sudo"),
        ),
        _ => io::Error::new(error.kind(), format!("{why}, which cannot be entered: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::diag::Diag;
    use std::net::TcpListener;
    use std::process::{Child, Command, Stdio};

    /// A process in a network namespace of its own; `None`: that takes rights that this process lacks.
    fn elsewhere() -> Option<Child> {
        let ready = |child: &Child| Namespace::of(Some(child.id() as Pid)) != Namespace::OWN;
        let mut child =
            Command::new("unshare").args(["--net", "sleep", "30"]).stderr(Stdio::null()).spawn().ok()?;
        while !ready(&child) {
            if child.try_wait().unwrap().is_some() {
                eprintln!("skipped: only root may make a network namespace");
                return None;
            }
            thread::yield_now();
        }
        Some(child)
    }

    #[test]
    fn what_is_opened_in_another_namespace_stays_there() {
        let Some(mut child) = elsewhere() else {
            return;
        };
        let there = Namespace::of(Some(child.id() as Pid));
        let own = TcpListener::bind("0.0.0.0:0").unwrap();
        let address = own.local_addr().unwrap();
        let mut diag = Diag::open_in(there);
        assert_eq!(diag.as_mut().unwrap().waiting(address).unwrap(), None);
        let theirs = there.within(|| TcpListener::bind(address)).unwrap();
        assert_eq!(diag.unwrap().waiting(address).unwrap(), Some(0));
        assert!(Diag::open().unwrap().waiting(address).unwrap().is_some());
        assert!(std::fs::read_to_string(there.table("tcp")).unwrap().lines().count() == 2);
        drop(theirs);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_of_the_same_namespace_or_of_none_is_read_from_here() {
        assert!(Namespace::of(Some(std::process::id() as Pid)).is_own());
        assert!(Namespace::of(Some(Pid::MAX)).is_own());
        assert!(Namespace::of(None).is_own());
        assert_eq!(Namespace::OWN.table("tcp"), "/proc/self/net/tcp");
    }

    #[test]
    fn a_namespace_that_may_not_be_entered_is_named_with_a_remedy() {
        let said = refused(7, &io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(said.contains("process 7") && said.contains("sudo"), "{said}");
        assert!(!refused(7, &io::Error::from_raw_os_error(libc::ENOENT)).to_string().contains("sudo"));
    }
}
