//! Which file an address of a process is of, from `/proc/PID/maps` (proc(5)). It is read again when an address is in none
//! of the files that are known.

use std::fs::File;
use std::io::{self, Read};

use super::places::{MappedFile, Place};
use crate::process_tree::Pid;

/// A process may map as much as it likes: what is beyond this is not known.
const MOST_BYTES: u64 = 8 << 20;
/// After a reading that did not help, the next one comes half a second later at the earliest.
const AGAIN_NS: u64 = 500_000_000;

/// A part of an address space that may be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub from: u64,
    pub until: u64,
    pub offset: u64,
    pub file: Option<MappedFile>,
}

#[derive(Default)]
pub struct AddressSpace {
    mappings: Vec<Mapping>,
    again_from_ns: u64,
}

impl AddressSpace {
    /// Returns where an address is, and the part it is in; `None`: in nothing that is known.
    pub fn find(&mut self, pid: Pid, address: u64, now_ns: u64) -> Option<(Place, &Mapping)> {
        if self.position(address).is_none() && now_ns > self.again_from_ns {
            self.again_from_ns = now_ns.saturating_add(AGAIN_NS);
            self.mappings = read(pid).unwrap_or_default();
        }
        let mapping = &self.mappings[self.position(address)?];
        let place = match &mapping.file {
            Some(file) => Place::File(file.clone(), address - mapping.from + mapping.offset),
            None => Place::Made(pid, address),
        };
        Some((place, mapping))
    }

    fn position(&self, address: u64) -> Option<usize> {
        let after = self.mappings.partition_point(|each| each.from <= address);
        let at = after.checked_sub(1)?;
        (address < self.mappings[at].until).then_some(at)
    }
}

fn read(pid: Pid) -> io::Result<Vec<Mapping>> {
    let mut bytes = Vec::new();
    File::open(format!("/proc/{pid}/maps"))?.take(MOST_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).lines().filter_map(parse).collect())
}

/// Returns what a line says; `None`: it cannot be executed, or makes no sense.
pub fn parse(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (from, until) = fields.next()?.split_once('-')?;
    let (from, until) = (hexadecimal(from)?, hexadecimal(until)?);
    let rights = fields.next()?;
    let offset = hexadecimal(fields.next()?)?;
    let (major, minor) = fields.next()?.split_once(':')?;
    let device = rustix::fs::makedev(hexadecimal(major)? as u32, hexadecimal(minor)? as u32);
    let inode: u64 = fields.next()?.parse().ok()?;
    let path = fields.next().unwrap_or_default().trim_start();
    if rights.as_bytes().get(2) != Some(&b'x') || until <= from {
        return None;
    }
    let file = is_file(inode, path).then(|| MappedFile { device, inode, path: path.to_owned() });
    Some(Mapping { from, until, offset, file })
}

/// Returns whether code is from a file. A compiler at run time may use memory that has the name of a file.
fn is_file(inode: u64, path: &str) -> bool {
    let made =
        ["/memfd:", "/dev/zero", "/dev/shm/", "/SYSV", "[anon"].iter().any(|begin| path.starts_with(begin));
    path == "[vdso]" || (inode != 0 && path.starts_with('/') && !made)
}

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(line: &str) -> Option<String> {
        parse(line)?.file.map(|file| file.path)
    }

    #[test]
    fn a_line_is_a_part_that_may_be_executed() {
        let found = parse("7f01-7f09 r-xp 00001000 fe:01 42      /usr/lib/a b.so (deleted)").unwrap();
        assert_eq!((found.from, found.until, found.offset), (0x7f01, 0x7f09, 0x1000));
        let file = found.file.unwrap();
        assert_eq!((file.path.as_str(), file.inode), ("/usr/lib/a b.so (deleted)", 42));
        assert_eq!(parse("7f01-7f09 rw-p 00001000 fe:01 42 /usr/lib/a.so"), None);
        for broken in
            ["", "7f01", "7f01-7f09", "7f09-7f01 r-xp 0 0:0 0", "x-y r-xp 0 0:0 0", "1-2 r-xp 0 00 0"]
        {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn memory_with_the_name_of_a_file_is_none() {
        assert_eq!(path("1-2 rwxp 00000000 00:00 0"), None);
        assert_eq!(path("1-2 r-xp 00000000 00:01 77 /memfd:doublemapper (deleted)"), None);
        assert_eq!(path("1-2 r-xp 00000000 00:00 0 [anon:jit]"), None);
        assert_eq!(path("1-2 r-xp 00000000 00:00 0 [vdso]").as_deref(), Some("[vdso]"));
    }

    #[test]
    fn a_reading_that_did_not_help_is_not_repeated_at_the_end_of_a_load() {
        let pid = std::process::id() as Pid;
        let mut space = AddressSpace::default();
        assert!(space.find(pid, 8, u64::MAX).is_none());
        assert!(!space.mappings.is_empty());
        space.mappings.clear();
        assert!(space.find(pid, 8, u64::MAX).is_none());
        assert!(space.mappings.is_empty(), "it was read again");
    }

    #[test]
    fn own_code_is_found_in_its_file() {
        let pid = std::process::id() as Pid;
        let address = own_code_is_found_in_its_file as *const () as u64;
        let mut space = AddressSpace::default();
        let (place, _) = space.find(pid, address, 1).unwrap();
        let Place::File(file, _) = place else { panic!("{place:?}") };
        assert_eq!(file.path, std::env::current_exe().unwrap().to_str().unwrap());
        assert!(space.find(pid, 8, 2).is_none());
    }
}
