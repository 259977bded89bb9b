//! Reads sockets inside another network namespace, as that of a container. Sockets belong to the namespace in which they are
//! opened, so what is opened there by a process that has entered it may be used here later.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::linux::fs::MetadataExt;

use rustix::cmsg_space;
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::process::{WaitOptions, waitpid};
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

    /// Returns the socket that `open` opens in this namespace. `open` may only call the kernel: it may run in a process that
    /// was forked from one of several threads.
    ///
    /// # Errors
    /// If it may not be entered, which the message says with a remedy, or as `open` says.
    pub fn within(self, open: impl FnOnce() -> Result<OwnedFd, Errno>) -> io::Result<OwnedFd> {
        let Some(pid) = self.of else {
            return Ok(open()?);
        };
        let there = There::of(pid).map_err(|error| refused(pid, &error))?;
        there.within(open).map_err(|error| refused(pid, &error))
    }

    /// Returns where a table of this namespace is, as `tcp`. Entering it is not necessary to read it.
    pub fn table(self, name: &str) -> String {
        match self.of {
            None => format!("/proc/self/net/{name}"),
            Some(pid) => format!("/proc/{pid}/net/{name}"),
        }
    }
}

/// What a process has to enter to be in the network namespace of another one.
struct There {
    /// The user namespace that owns the network namespace, if that is not this process's. Who has made it has all rights in
    /// it, and outside none.
    user: Option<OwnedFd>,
    network: OwnedFd,
}

impl There {
    fn of(pid: Pid) -> io::Result<Self> {
        let network = OwnedFd::from(File::open(format!("/proc/{pid}/ns/net"))?);
        // SAFETY: the descriptor is open, and the request takes no argument (ioctl_ns(2)).
        let owner = unsafe { libc::ioctl(network.as_raw_fd(), libc::NS_GET_USERNS) };
        if owner < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the kernel has just opened it, for this call.
        let owner = File::from(unsafe { OwnedFd::from_raw_fd(owner) });
        let is_own = owner.metadata()?.st_ino() == std::fs::metadata("/proc/self/ns/user")?.st_ino();
        Ok(Self { user: (!is_own).then(|| owner.into()), network })
    }

    /// A process that has threads may not enter a user namespace, and one that has entered cannot always come back. So a
    /// child enters, hands over the socket and ends with the number of the error, if any.
    fn within(&self, open: impl FnOnce() -> Result<OwnedFd, Errno>) -> io::Result<OwnedFd> {
        let (near, far) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        // SAFETY: the child only calls the kernel, with memory that it has already, and ends.
        let child = unsafe { libc::fork() };
        if child < 0 {
            return Err(io::Error::last_os_error());
        }
        if child == 0 {
            let done = self.enter().and_then(|()| hand_over(far.as_fd(), open()?.as_fd()));
            // SAFETY: _exit ends the child before it runs any code of the parent.
            unsafe { libc::_exit(done.map_or_else(Errno::raw_os_error, |()| 0)) }
        }
        let ended = retry_on_intr(|| waitpid(rustix::process::Pid::from_raw(child), WaitOptions::empty()))?;
        match ended.and_then(|(_, status)| status.exit_status()) {
            Some(0) => take_over(near.as_fd()),
            Some(number) => Err(io::Error::from_raw_os_error(number)),
            None => Err(io::Error::other("the process that entered it was killed")),
        }
    }

    fn enter(&self) -> Result<(), Errno> {
        if let Some(user) = &self.user {
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        move_into_link_name_space(self.network.as_fd(), Some(LinkNameSpaceType::Network))
    }
}

fn hand_over(to: BorrowedFd, socket: BorrowedFd) -> Result<(), Errno> {
    let sockets = [socket];
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    rights.push(SendAncillaryMessage::ScmRights(&sockets));
    sendmsg(to, &[IoSlice::new(b"!")], &mut rights, SendFlags::empty()).map(drop)
}

fn take_over(from: BorrowedFd) -> io::Result<OwnedFd> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    recvmsg(from, &mut [IoSliceMut::new(&mut [0])], &mut rights, flags)?;
    let socket = rights.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
        _ => None,
    });
    socket.ok_or_else(|| io::Error::other("the process that entered it handed over no socket"))
}

fn refused(pid: Pid, error: &io::Error) -> io::Error {
    let why = format!("process {pid} is in another network namespace");
    match error.kind() {
        io::ErrorKind::PermissionDenied => io::Error::new(
            io::ErrorKind::PermissionDenied,
            format!("{why}, which only its owner and root may enter: run crumple with sudo"),
        ),
        _ => io::Error::new(error.kind(), format!("{why}, which cannot be entered: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::diag::Diag;
    use rustix::net::socket_with;
    use std::net::{SocketAddr, TcpListener};
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};
    use std::thread;

    /// A process in a network namespace of its own; `None`: `unshare` with these flags may not make one here.
    fn elsewhere(flags: &[&str]) -> Option<Child> {
        let ready = |child: &Child| Namespace::of(Some(child.id() as Pid)) != Namespace::OWN;
        let mut child =
            Command::new("unshare").args(flags).args(["sleep", "30"]).stderr(Stdio::null()).spawn().ok()?;
        while !ready(&child) {
            if child.try_wait().unwrap().is_some() {
                eprintln!("skipped: this user may not make a namespace with {flags:?}");
                return None;
            }
            thread::yield_now();
        }
        Some(child)
    }

    fn listening(address: SocketAddr) -> Result<OwnedFd, Errno> {
        let socket = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        rustix::net::bind(&socket, &address)?;
        rustix::net::listen(&socket, 1)?;
        Ok(socket)
    }

    /// Asserts that what is opened in the namespace of such a process stays there.
    fn is_opened_there(flags: &[&str]) {
        let Some(mut child) = elsewhere(flags) else {
            return;
        };
        let there = Namespace::of(Some(child.id() as Pid));
        let own = TcpListener::bind("0.0.0.0:0").unwrap();
        let address = own.local_addr().unwrap();
        let mut diag = Diag::open_in(there);
        assert_eq!(diag.as_mut().unwrap().waiting(address).unwrap(), None);
        let theirs = there.within(|| listening(address)).unwrap();
        assert_eq!(diag.unwrap().waiting(address).unwrap(), Some(0));
        assert!(Diag::open().unwrap().waiting(address).unwrap().is_some());
        assert!(std::fs::read_to_string(there.table("tcp")).unwrap().lines().count() == 2);
        // What `open` reports is reported.
        let taken = there.within(|| listening(address)).unwrap_err();
        assert!(taken.to_string().contains("Address already in use"), "{taken}");
        drop(theirs);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    const ROOTLESS: [&str; 3] = ["--user", "--map-root-user", "--net"];

    #[test]
    fn what_is_opened_in_another_namespace_stays_there() {
        is_opened_there(&["--net"]);
    }

    #[test]
    fn a_namespace_that_a_user_namespace_owns_is_entered_by_whoever_may() {
        is_opened_there(&ROOTLESS);
    }

    #[test]
    fn a_user_enters_what_the_user_has_made_and_nothing_else() {
        if !rustix::process::getuid().is_root() {
            return; // The test before this one shows it.
        }
        let name =
            "probe::namespace::tests::a_namespace_that_a_user_namespace_owns_is_entered_by_whoever_may";
        let copy = tempfile::tempdir().unwrap();
        let program = copy.path().join("tests");
        std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
        std::fs::set_permissions(copy.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let as_user = |name: &str, of: &str| {
            let mut asked = Command::new(&program);
            asked.args(["--exact", name, "--nocapture"]).env("CRUMPLE_TEST_PID", of).current_dir("/");
            asked.uid(NOBODY).gid(NOBODY).output().unwrap()
        };
        let done = as_user(name, "");
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        let Some(mut roots) = elsewhere(&ROOTLESS) else {
            return;
        };
        let done = as_user(
            "probe::namespace::tests::a_namespace_of_another_user_is_refused",
            &roots.id().to_string(),
        );
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("1 passed"), "{said}");
        roots.kill().unwrap();
        roots.wait().unwrap();
    }

    /// A user of no rights.
    const NOBODY: u32 = 65_534;

    /// The test before this one starts it as another user, with a process of root's.
    #[test]
    fn a_namespace_of_another_user_is_refused() {
        let Some(pid) = std::env::var("CRUMPLE_TEST_PID").ok().and_then(|pid| pid.parse().ok()) else {
            return;
        };
        let refused = Namespace::of(Some(pid)).within(|| panic!("it was entered")).unwrap_err();
        assert!(refused.to_string().contains("only its owner and root"), "{refused}");
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
