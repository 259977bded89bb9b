//! What a compiler at run time says of its code, in a file for perf(1): `/tmp/perf-PID.map`, with a function a line.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;

use super::mapped_file;
use crate::clock::now_ns;
use crate::process_tree::Pid;

const MOST_BYTES: u64 = 32 << 20;
/// 65,536 addresses are named between two looks at the clock. Each line may hold all of them.
const STEPS: usize = 1 << 16;

/// Returns the names of the functions that hold these addresses of a process, as far as it has written them. A file of
/// another user's is not believed. It takes until `until_ns`; what was not reached by then has no name.
pub fn names(pid: Pid, addresses: &[u64], until_ns: u64) -> BTreeMap<u64, String> {
    if now_ns() >= until_ns {
        return BTreeMap::new();
    }
    read(pid).map(|text| parse(&text, addresses, until_ns)).unwrap_or_default()
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
    let status = fs::read(format!("/proc/{pid}/status")).ok()?; // The name in it may be cut within a letter.
    let status = String::from_utf8_lossy(&status);
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_ascii_whitespace().last()?.parse().ok()
}

pub fn parse(text: &str, addresses: &[u64], until_ns: u64) -> BTreeMap<u64, String> {
    let mut wanted = addresses.to_vec();
    wanted.sort_unstable();
    let mut found = BTreeMap::new();
    let mut steps = 0;
    for line in text.lines() {
        steps += 1;
        if steps >= STEPS {
            if now_ns() >= until_ns {
                // What was named so far may have been replaced further on.
                return BTreeMap::new();
            }
            steps = 0;
        }
        let mut fields = line.splitn(3, ' ');
        let mut number = || u64::from_str_radix(fields.next()?.trim_start_matches("0x"), 16).ok();
        let (Some(from), Some(size)) = (number(), number()) else {
            continue;
        };
        let first = wanted.partition_point(|each| *each < from);
        for address in wanted[first..].iter().take_while(|each| **each - from < size) {
            // What comes later in the file took the place of what was there.
            found.insert(*address, fields.clone().next().unwrap_or_default().to_owned());
            steps += 1;
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
        let found = parse(text, &[0x7f0f, 0x7f07, 0x7f10, 0x7f30], u64::MAX);
        let told = [(0x7f07, "LazyCompile:*new x"), (0x7f0f, "LazyCompile:~old /a.js:1")];
        assert_eq!(found, told.map(|(at, name)| (at, name.to_owned())).into());
    }

    #[test]
    fn a_process_knows_its_own_number() {
        assert!(number_inside(std::process::id() as Pid).is_some());
        assert!(names(std::process::id() as Pid, &[1], u64::MAX).is_empty());
    }

    #[test]
    fn a_file_each_line_of_which_holds_all_addresses_does_not_hold_it_up() {
        let addresses: Vec<u64> = (0..20_000).collect();
        let text = "0 ffffffff x\n".repeat(5_000); // It would be a hundred million steps.
        let began_ns = now_ns();
        assert!(parse(&text, &addresses, began_ns + 10_000_000).is_empty());
        assert!(now_ns() - began_ns < 1_000_000_000);
    }
}
