//! What `crate::foreign` reads with the parsers of this room.

use std::fs::File;

use super::{address_space, elf::Elf, perf_map, ring};

/// Reads an executable and its functions at these addresses.
pub fn executable(file: File, addresses: &[u64], until_ns: u64) {
    let Ok(elf) = Elf::open(file) else { return };
    _ = elf.build_id();
    let at: Vec<u64> = addresses.iter().filter_map(|&offset| elf.address(offset)).collect();
    let named = elf.names(addresses, until_ns).unwrap_or_default();
    assert!(named.keys().all(|address| addresses.contains(address)));
    let between = elf.between(&at, until_ns).unwrap_or_default();
    assert!(between.keys().all(|address| at.contains(address)));
}

/// Reads a list of functions that a program writes of itself.
pub fn functions(text: &str, addresses: &[u64], until_ns: u64) {
    let named = perf_map::parse(text, addresses, until_ns);
    assert!(named.iter().all(|(address, name)| addresses.contains(address) && text.contains(name)));
}

/// Reads lines of `/proc/PID/maps`.
pub fn mappings(bytes: &[u8]) {
    _ = String::from_utf8_lossy(bytes).lines().filter_map(address_space::parse).count();
}

/// Reads a buffer of samples.
pub fn samples(bytes: &[u8]) {
    let taken = ring::parse(bytes);
    assert!(taken.addresses.len() * 8 <= bytes.len());
    for (tail, head) in [(0, 7), (5, 5 + bytes.len() as u64), (u64::MAX, 3)] {
        assert!(ring::unrolled(bytes, tail, head).len() <= bytes.len());
    }
}
