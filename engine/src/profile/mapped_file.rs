//! Opens the file that a process has mapped, also one in a container, and one that was deleted or replaced since.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

use super::places::MappedFile;
use crate::process_tree::Pid;

/// The file has this name, and is another one.
const REPLACED: &str = "the file was replaced or deleted since it was mapped";

/// Opens the file of a mapping of a process: the mapping itself, which takes privileges, or by its path as the process sees
/// it. A process may name any path there, so what is no plain file, or not the file that is mapped, is refused.
///
/// # Errors
/// Why it cannot be opened.
pub fn open(pid: Pid, from: u64, until: u64, file: &MappedFile) -> Result<File, String> {
    if let Ok(found) = plain(&format!("/proc/{pid}/map_files/{from:x}-{until:x}")) {
        return Ok(found);
    }
    let found = plain(&format!("/proc/{pid}/root{}", file.path))
        .map_err(|why| if file.path.ends_with(" (deleted)") { REPLACED.to_owned() } else { why })?;
    // Some file systems (overlayfs, btrfs) have other device numbers in `maps` than in `stat`.
    let is_same = found.metadata().is_ok_and(|metadata| metadata.ino() == file.inode);
    if is_same { Ok(found) } else { Err(REPLACED.into()) }
}

/// Opens a plain file. Opening a pipe or a device may wait or do something, so neither waits, and neither is kept.
pub fn plain(path: &str) -> Result<File, String> {
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file =
        OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| error.to_string())?;
    let metadata = file.metadata().map_err(|error| error.to_string())?;
    if metadata.is_file() { Ok(file) } else { Err("it is no plain file".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn mapped(path: &str) -> MappedFile {
        let (device, inode) = fs::metadata(path).map_or((0, 0), |found| (found.dev(), found.ino()));
        MappedFile { device, inode, path: path.into() }
    }

    #[test]
    fn a_file_is_opened_by_its_path_if_it_is_still_the_same() {
        let (pid, folder) = (std::process::id() as Pid, tempfile::tempdir().unwrap());
        let path = folder.path().join("program");
        let path = path.to_str().unwrap();
        fs::write(path, "x").unwrap();
        let before = mapped(path);
        assert!(open(pid, 0, 0, &before).is_ok());
        fs::write(format!("{path}.new"), "y").unwrap();
        fs::rename(format!("{path}.new"), path).unwrap();
        assert_eq!(open(pid, 0, 0, &before).unwrap_err(), REPLACED);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: `name` ends with a zero and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        assert_eq!(plain(path.to_str().unwrap()).unwrap_err(), "it is no plain file");
        assert!(plain("/dev/null").is_err());
    }
}
