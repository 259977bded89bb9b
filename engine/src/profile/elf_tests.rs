use super::*;
use std::io::Write;

/// Symbols of a made file: name, address, size, kind.
type Symbols<'a> = &'a [(&'a str, u64, u64, u8)];

/// An ELF file with one segment (0x1000 bytes, the offset 0 loaded at 0x40_0000) and one table of symbols.
fn made(symbols: Symbols) -> Vec<u8> {
    let (mut table, mut names) = (vec![0_u8; 24], vec![0_u8]);
    for (name, address, size, kind) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        table.extend([*kind, 0, 1, 0]);
        table.extend(address.to_le_bytes());
        table.extend(size.to_le_bytes());
        names.extend(name.bytes().chain([0]));
    }
    let (table_at, names_at) = (64 + 56 + 3 * 64, 64 + 56 + 3 * 64 + table.len());
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(64, 0);
    file[32..40].copy_from_slice(&64_u64.to_le_bytes());
    file[40..48].copy_from_slice(&(64_u64 + 56).to_le_bytes());
    file[56] = 1;
    file[60] = 3;
    let mut segment = [0_u8; 56];
    segment[0] = 1;
    segment[16..24].copy_from_slice(&0x40_0000_u64.to_le_bytes());
    segment[32..40].copy_from_slice(&0x1000_u64.to_le_bytes());
    file.extend(segment);
    file.extend(section(0, 0, 0, 0));
    file.extend(section(TABLE, table_at, table.len(), 2));
    file.extend(section(3, names_at, names.len(), 0));
    file.extend(table);
    file.extend(names);
    file
}

fn section(kind: u32, at: usize, size: usize, link: u32) -> [u8; 64] {
    let mut section = [0; 64];
    section[4..8].copy_from_slice(&kind.to_le_bytes());
    section[24..32].copy_from_slice(&(at as u64).to_le_bytes());
    section[32..40].copy_from_slice(&(size as u64).to_le_bytes());
    section[40..44].copy_from_slice(&link.to_le_bytes());
    section
}

fn opened(bytes: &[u8]) -> Result<Elf, String> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    Elf::open(file)
}

fn names(symbols: Symbols, addresses: &[u64]) -> Vec<Option<String>> {
    let found = opened(&made(symbols)).unwrap().names(addresses, u64::MAX).unwrap();
    addresses.iter().map(|address| found.get(address).cloned()).collect()
}

#[test]
fn a_segment_that_is_said_to_hold_everything_is_no_fault_of_ours() {
    let mut bytes = made(&[]);
    bytes[64 + 8..64 + 16].copy_from_slice(&0x800_u64.to_le_bytes());
    bytes[64 + 32..64 + 40].copy_from_slice(&u64::MAX.to_le_bytes());
    assert_eq!(opened(&bytes).unwrap().address(0), Some(0x40_0000 - 0x800));
}

#[test]
fn a_name_is_that_of_the_symbol_that_holds_the_address() {
    let symbols = [
        ("outer", 0x100, 0x100, 2),
        ("inner", 0x140, 0x10, 0),
        ("table", 0x100, 0x200, 1),
        ("none", 0x300, 0, 2),
    ];
    let found = names(&symbols, &[0xff, 0x100, 0x13f, 0x140, 0x14f, 0x150, 0x1ff, 0x200, 0x300]);
    let told = ["", "outer", "outer", "inner", "inner", "outer", "outer", "", ""];
    assert_eq!(found, told.map(|name| Some(name.to_owned()).filter(|name| !name.is_empty())));
}

#[test]
fn what_no_symbol_holds_is_between_two() {
    let symbols = [
        ("c", 0x300, 0x10, 2),
        ("a", 0x100, 0x20, 2),
        ("data", 0x180, 8, 1),
        ("b", 0x200, 0x40, 2),
        ("wide", 0x200, 0x80, 2),
    ];
    let mut bytes = made(&symbols);
    bytes[64 + 56 + 64 + 4] = DYNAMIC_TABLE as u8;
    let found = opened(&bytes).unwrap().between(&[0x50, 0x130, 0x1ff, 0x290, 0x320], u64::MAX).unwrap();
    let two = |at: u64| found.get(&at).map(|(after, before)| format!("{after} {before}"));
    assert_eq!([0x50, 0x320].map(two), [None, None]);
    // Of two that begin or end at one address, either is told.
    assert!([0x130, 0x1ff].iter().all(|&at| two(at).is_some_and(|said| said == "a b" || said == "a wide")));
    assert_eq!(two(0x290).as_deref(), Some("wide c"));
    // A file's own table says where its functions are: nothing is guessed of what it does not hold.
    assert_eq!(opened(&made(&symbols)).unwrap().between(&[0x130], u64::MAX), Ok(BTreeMap::new()));
}

#[test]
fn an_offset_is_loaded_where_its_segment_says() {
    let elf = opened(&made(&[])).unwrap();
    assert_eq!(
        (elf.address(0x10), elf.address(0xfff), elf.address(0x1000)),
        (Some(0x40_0010), Some(0x40_0fff), None)
    );
}

#[test]
fn a_file_that_is_broken_has_a_reason_and_no_names() {
    let whole = made(&[("f", 0x100, 0x100, 2)]);
    for length in 0..whole.len() {
        let read = opened(&whole[..length]).and_then(|elf| elf.names(&[0x100], u64::MAX));
        assert!(read.is_err() || read.is_ok_and(|names| names.len() <= 1));
    }
    // Each byte, one after the other, has another value.
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut broken = whole.clone();
            broken[at] = value;
            let _ = opened(&broken).and_then(|elf| elf.names(&[0x100], now_ns() + 1_000_000_000));
        }
    }
    assert_eq!(opened(b"#!/bin/sh").err().unwrap(), "it is broken: failed to fill whole buffer");
    assert_eq!(opened(&[b'x'; 100]).err().unwrap(), "it is no ELF file");
}

#[test]
fn a_huge_table_is_not_read() {
    let mut file = made(&[("f", 0x100, 0x100, 2)]);
    let size_at = 64 + 56 + 64 + 32;
    file[size_at..size_at + 8].copy_from_slice(&(u64::MAX / 2).to_le_bytes());
    let why = opened(&file).unwrap().names(&[0x100], u64::MAX).unwrap_err();
    assert_eq!(why, "it has more than 8000000 symbols");
}

#[test]
fn a_table_that_takes_too_long_is_given_up() {
    let why = opened(&made(&[("f", 0x100, 0x100, 2)])).unwrap().names(&[0x100], 0).unwrap_err();
    assert_eq!(why, "its symbols take too long to read");
}

#[test]
fn the_engine_finds_a_function_of_its_own() {
    let elf = Elf::open(File::open("/proc/self/exe").unwrap()).unwrap();
    assert!(elf.has_table());
    if let Some(id) = elf.build_id() {
        assert!(id.len() >= 16 && id.bytes().all(|digit| digit.is_ascii_hexdigit()));
    }
}

#[test]
fn a_build_id_is_found_among_notes() {
    let note = |kind: u32, name: &[u8; 4], value: &[u8]| {
        let mut bytes = 4_u32.to_le_bytes().to_vec();
        bytes.extend((value.len() as u32).to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(name);
        bytes.extend(value);
        bytes
    };
    let notes = [note(1, b"GNU\0", &[0; 16]), note(3, b"GNU\0", &[0xab, 1, 2, 3])].concat();
    assert_eq!(build_id(&notes).as_deref(), Some("ab010203"));
    assert_eq!(build_id(&note(3, b"abc\0", &[1; 4])), None);
    assert_eq!(build_id(&[0xff; 40]), None);
}
