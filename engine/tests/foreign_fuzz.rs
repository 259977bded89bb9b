//! Whatever the kernel and other programs write, no parser of it panics or hangs: a bounded part of what
//! fuzz/fuzz_targets/foreign.rs does without end.

mod mutation;

use crumple_engine::foreign::PARSERS;
use mutation::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Numbers at which the arithmetic of a parser may end.
const NUMBERS: [u64; 8] = [0, 1, 7, 0xff, 0x1000, u32::MAX as u64, i64::MAX as u64, u64::MAX];
const STAT: &[u8] =
    b"7 (a) R (b) S 3 7 7 0 -1 4194560 10 0 0 0 30 10 4 6 20 0 3 0 5123 1000 25 18446744073709551615 1 1 0";
const MAPS: &[u8] = b"55d0c0a00000-55d0c0a21000 r-xp 00002000 fd:01 131 /usr/bin/a b (deleted)\n7f00-7fff rwxp 00000000 00:00 0\n";
const FUNCTIONS: &[u8] = b"100 81 one\n0x40 ffffffffffffffff two three\nffffffffffffffff 1 four\n";
const CPU: &[u8] = b"cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4 5 6 7 8 9 10\nctxt 77\n";
const UDP: &[u8] =
    b"   1: 0100007F:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1234 2 0 0\n";

/// An executable with one segment and one table of two functions.
fn executable() -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(64, 0);
    put(&mut file, 32, 64);
    put(&mut file, 40, 120);
    (file[56], file[60]) = (1, 3);
    let segment = file.len();
    file.resize(segment + 56, 0);
    file[segment] = 1;
    put(&mut file, segment + 16, 0x40_0000);
    put(&mut file, segment + 32, 0x1000);
    for (kind, at, size, link) in [(0, 0, 0, 0), (2, 312, 48, 2), (3, 360, 9, 0)] {
        let section = file.len();
        file.resize(section + 64, 0);
        (file[section + 4], file[section + 40]) = (kind, link);
        put(&mut file, section + 24, at);
        put(&mut file, section + 32, size);
    }
    for (name, address) in [(1, 0x100), (5, 0x40_0100)] {
        let symbol = file.len();
        file.resize(symbol + 24, 0);
        (file[symbol], file[symbol + 4], file[symbol + 6]) = (name, 2, 1);
        put(&mut file, symbol + 8, address);
        put(&mut file, symbol + 16, 0x100);
    }
    file.extend(b"\0one\0two\0");
    file
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// A message of the kernel about a socket, with attributes, and one that is cut off.
fn messages() -> Vec<u8> {
    let mut bytes = vec![0; 16 + 72];
    bytes[0] = 16 + 72 + 16;
    bytes[4] = 20;
    (bytes[16], bytes[17]) = (2, 1);
    bytes.extend([12, 0, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 4, 0, 9, 0]);
    bytes.extend([200, 0, 0, 0]);
    bytes
}

#[derive(Clone, Debug)]
enum Edit {
    Byte(Index, u8),
    Number(Index, u64),
    Digits(Index, u64),
    Cut(Index),
    Twice(Index, usize),
}

fn edits() -> impl Strategy<Value = Vec<Edit>> {
    let number = || prop_oneof![select(NUMBERS.as_slice()), any::<u64>()];
    let edit = prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        (any::<Index>(), number()).prop_map(|(at, number)| Edit::Number(at, number)),
        (any::<Index>(), number()).prop_map(|(at, number)| Edit::Digits(at, number)),
        any::<Index>().prop_map(Edit::Cut),
        (any::<Index>(), 1..64_usize).prop_map(|(at, length)| Edit::Twice(at, length)),
    ];
    vec(edit, 0..6)
}

fn edited(mut bytes: Vec<u8>, edits: &[Edit]) -> Vec<u8> {
    for edit in edits {
        if bytes.is_empty() {
            break;
        }
        match edit {
            Edit::Byte(at, byte) => {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            Edit::Number(at, number) => {
                // Fields lie at multiples of four.
                let from = at.index(bytes.len()) / 4 * 4;
                let to = bytes.len().min(from + 8);
                bytes[from..to].copy_from_slice(&number.to_le_bytes()[..to - from]);
            }
            Edit::Digits(at, number) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, number.to_string().into_bytes());
            }
            Edit::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Edit::Twice(at, length) => {
                let from = at.index(bytes.len());
                let again = bytes[from..bytes.len().min(from + length)].to_vec();
                bytes.splice(from..from, again);
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(cases(3_000))]

    #[test]
    fn no_parser_panics(begins in 0..8_usize, edits in edits()) {
        let all = [
            executable(),
            FUNCTIONS.into(),
            MAPS.into(),
            [9, 0, 0, 0, 0, 0, 24, 0].into_iter().chain(0..16).chain([2, 0, 0, 0, 0, 0, 16, 0, 1]).collect(),
            messages(),
            STAT.into(),
            CPU.into(),
            UDP.into(),
        ];
        let bytes = edited(all[begins].clone(), &edits);
        PARSERS.iter().for_each(|parse| parse(&bytes));
    }

    #[test]
    fn nor_of_any_bytes(bytes in vec(any::<u8>(), 0..300)) {
        PARSERS.iter().for_each(|parse| parse(&bytes));
    }
}
