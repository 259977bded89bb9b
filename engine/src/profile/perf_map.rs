//! What a compiler at run time says of its code, in a file for perf(1): `/tmp/perf-PID.map`, with a function a line.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use super::mapped_file;
use crate::process_tree::Pid;

const MOST_BYTES: u64 = 32 << 20;

/// Returns the names of the functions that hold these addresses of a process, as far as it has written them. A file of
/// another user's is not believed.
pub fn names(pid: Pid, addresses: &[u64]) -> BTreeMap<u64, String> {
    read(pid).map(|text| parse(&text, addresses)).unwrap_or_default()
}

fn read(pid: Pid) -> Option<String> {
    let owner = fs::metadata(format!("/proc/{pid}")).ok()?.uid();
    let file = mapped_file::plain(&format!("/proc/{pid}/root/tmp/perf-{}.map", number_inside(pid)?)).ok()?;
    if file.metadata().ok()?.uid() != owner {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the number that a process has in its own namespace.
fn number_inside(pid: Pid) -> Option<Pid> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

fn parse(text: &str, addresses: &[u64]) -> BTreeMap<u64, String> {
    let mut wanted = addresses.to_vec();
    wanted.sort_unstable();
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok();
        let (Some(from), Some(size)) = (number(), number()) else {
            continue;
        };
        let first = wanted.partition_point(|each| *each < from);
        for address in wanted[first..].iter().take_while(|each| **each - from < size) {
            // What comes later in the file took the place of what was there.
            found.insert(*address, fields.clone().next().unwrap_or_default().to_owned());
        }
    }
    found.retain(|_, name| !name.is_empty());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_function_that_holds_an_address_names_it() {
        let text =
            "7f00 10 LazyCompile:~old /a.js:1\nrubbish\n7f00 8 LazyCompile:*new x\n\n7f20 zz q\n7f30 10\n";
        let found = parse(text, &[0x7f0f, 0x7f07, 0x7f10, 0x7f30]);
        let told = [(0x7f07, "LazyCompile:*new x"), (0x7f0f, "LazyCompile:~old /a.js:1")];
        assert_eq!(found, told.map(|(at, name)| (at, name.to_owned())).into());
    }

    #[test]
    fn a_process_knows_its_own_number() {
        assert!(number_inside(std::process::id() as Pid).is_some());
        assert!(names(std::process::id() as Pid, &[1]).is_empty());
    }
}
