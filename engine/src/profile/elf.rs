//! The functions at given offsets of an ELF file, by its tables of symbols. The file may be broken, huge or made to do harm:
//! it is read in pieces of a bounded size, never mapped, and until a given instant only.
//!
//! Only a symbol whose own bytes hold an address names it. The nearest symbol before it would name what is stripped wrongly.
//! Of such an address it is told between which two functions it lies: what a compiler makes of one source file stays together.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::clock::now_ns;

const SECTIONS_MOST: usize = 4096;
const SEGMENTS_MOST: usize = 512;
const SECTION_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;
const SYMBOL_BYTES: u64 = 24;
/// 4,096 symbols are read at once: 96 KiB.
const AT_ONCE: u64 = 4096;
/// More symbols are not looked at. Chromium has about a million.
const SYMBOLS_MOST: u64 = 8_000_000;
/// The longest name that is read. Those of C++ templates may have thousands of letters.
const NAME_BYTES: usize = 1024;
const NOTES_MOST: u64 = 64 * 1024;

const TABLE: u32 = 2;
const DYNAMIC_TABLE: u32 = 11;
const LOADED: u32 = 1;
const NOTE: u32 = 4;
const FUNCTION_KINDS: [u8; 3] = [0, 2, 10]; // of no type, a function, a function that chooses another
const BUILD_ID: u32 = 3;

/// An ELF file whose headers were read.
pub struct Elf {
    file: File,
    segments: Vec<Segment>,
    sections: Vec<Section>,
}

struct Segment {
    kind: u32,
    offset: u64,
    address: u64,
    size: u64,
}

struct Section {
    kind: u32,
    offset: u64,
    size: u64,
    link: usize,
}

/// A symbol that holds an address.
#[derive(Clone, Copy)]
struct Holds {
    size: u64,
    name: u64,
}

/// The names of the functions before and after an address.
pub type Between = (String, String);

/// The symbols that are nearest to an address on either side: where each ends or begins, and its name.
#[derive(Clone, Copy, Default)]
struct Nearest {
    before: Option<(u64, u64)>,
    after: Option<(u64, u64)>,
}

impl Elf {
    /// # Errors
    /// Why it has no functions that could be read.
    pub fn open(file: File) -> Result<Self, String> {
        let mut head = [0; 64];
        read(&file, 0, &mut head)?;
        if &head[..4] != b"\x7fELF" {
            return Err("it is no ELF file".into());
        }
        if head[4] != 2 || head[5] != 1 {
            return Err("it is not of 64 bits with the lowest byte first".into());
        }
        let segments = headers(&file, u64_at(&head, 32), u16_at(&head, 56), SEGMENT_BYTES, SEGMENTS_MOST)?;
        let sections = headers(&file, u64_at(&head, 40), u16_at(&head, 60), SECTION_BYTES, SECTIONS_MOST)?;
        Ok(Self {
            file,
            segments: segments.chunks_exact(SEGMENT_BYTES).map(Segment::parse).collect(),
            sections: sections.chunks_exact(SECTION_BYTES).map(Section::parse).collect(),
        })
    }

    /// Returns the address that an offset of the file is loaded at, counted as symbols count.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let holds = |each: &&Segment| each.kind == LOADED && offset.wrapping_sub(each.offset) < each.size;
        let segment = self.segments.iter().find(holds)?;
        Some(offset.wrapping_sub(segment.offset).wrapping_add(segment.address))
    }

    /// Returns whether it has the full table of symbols, which can be stripped.
    pub fn has_table(&self) -> bool {
        self.sections.iter().any(|section| section.kind == TABLE && section.size >= SYMBOL_BYTES)
    }

    /// Returns the number that names this build and its debug file, in hexadecimal digits.
    pub fn build_id(&self) -> Option<String> {
        let notes = self.segments.iter().filter(|each| each.kind == NOTE && each.size <= NOTES_MOST);
        notes.into_iter().find_map(|each| {
            let mut bytes = vec![0; each.size as usize];
            read(&self.file, each.offset, &mut bytes).ok()?;
            build_id(&bytes)
        })
    }

    /// Returns the names of the functions that hold these addresses.
    ///
    /// # Errors
    /// What was found until then is lost if it takes longer than until `until_ns`, or if a table is broken.
    pub fn names(&self, addresses: &[u64], until_ns: u64) -> Result<BTreeMap<u64, String>, String> {
        let mut wanted = sorted(addresses);
        let mut found = BTreeMap::new();
        for kind in [TABLE, DYNAMIC_TABLE] {
            for table in self.sections.iter().filter(|section| section.kind == kind) {
                wanted.retain(|address| !found.contains_key(address));
                if !wanted.is_empty() {
                    self.search(table, &wanted, until_ns, &mut found)?;
                }
            }
        }
        Ok(found)
    }

    /// Returns between which exported functions these addresses lie, each of which no symbol holds.
    ///
    /// # Errors
    /// If it takes longer than until `until_ns`, or if a table is broken.
    pub fn between(&self, addresses: &[u64], until_ns: u64) -> Result<BTreeMap<u64, Between>, String> {
        let wanted = sorted(addresses);
        let mut found = BTreeMap::new();
        if wanted.is_empty() {
            return Ok(found);
        }
        for table in self.sections.iter().filter(|section| section.kind == DYNAMIC_TABLE) {
            let names = self.names_of(table)?;
            let mut nearest = vec![Nearest::default(); wanted.len()];
            self.each_symbol(table, until_ns, |symbol| note_nearest(symbol, &wanted, &mut nearest))?;
            for (address, nearest) in wanted.iter().zip(nearest) {
                if let (Some((_, before)), Some((_, after))) = (nearest.before, nearest.after)
                    && let (Some(before), Some(after)) = (self.name(names, before), self.name(names, after))
                {
                    found.insert(*address, (before, after));
                }
            }
        }
        Ok(found)
    }

    fn search(
        &self,
        table: &Section,
        wanted: &[u64],
        until_ns: u64,
        found: &mut BTreeMap<u64, String>,
    ) -> Result<(), String> {
        let names = self.names_of(table)?;
        let mut holds: Vec<Option<Holds>> = vec![None; wanted.len()];
        self.each_symbol(table, until_ns, |symbol| note(symbol, wanted, &mut holds))?;
        for (address, holds) in wanted.iter().zip(holds) {
            let name = holds.and_then(|holds| self.name(names, holds.name));
            found.extend(name.map(|name| (*address, name)));
        }
        Ok(())
    }

    fn names_of(&self, table: &Section) -> Result<&Section, String> {
        self.sections.get(table.link).ok_or_else(|| "its table of symbols has no names".into())
    }

    /// Gives each symbol of a table, in pieces of the file.
    fn each_symbol(&self, table: &Section, until_ns: u64, mut give: impl FnMut(&[u8])) -> Result<(), String> {
        let symbols = table.size / SYMBOL_BYTES;
        if symbols > SYMBOLS_MOST {
            return Err(format!("it has more than {SYMBOLS_MOST} symbols"));
        }
        let mut bytes = vec![0; (AT_ONCE * SYMBOL_BYTES) as usize];
        let mut at = 0;
        while at < symbols {
            if now_ns() >= until_ns {
                return Err("its symbols take too long to read".into());
            }
            let piece = &mut bytes[..(AT_ONCE.min(symbols - at) * SYMBOL_BYTES) as usize];
            read(&self.file, table.offset.saturating_add(at * SYMBOL_BYTES), piece)?;
            piece.chunks_exact(SYMBOL_BYTES as usize).for_each(&mut give);
            at += AT_ONCE;
        }
        Ok(())
    }

    /// Returns the name at this place of a section; `None`: it has none.
    fn name(&self, section: &Section, at: u64) -> Option<String> {
        let left = section.size.checked_sub(at)?.min(NAME_BYTES as u64);
        let mut bytes = vec![0; left as usize];
        let got = self.file.read_at(&mut bytes, section.offset.checked_add(at)?).ok()?;
        let name = bytes[..got].split(|byte| *byte == 0).next()?;
        (!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned())
    }
}

fn sorted(addresses: &[u64]) -> Vec<u64> {
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    sorted
}

/// Notes a symbol at each wanted address that it holds. Of several, the shortest is the one meant: others enclose it.
fn note(symbol: &[u8], wanted: &[u64], holds: &mut [Option<Holds>]) {
    let Some((address, size)) = function(symbol) else { return };
    let first = wanted.partition_point(|each| *each < address);
    for (each, known) in wanted[first..].iter().zip(&mut holds[first..]) {
        if each - address >= size {
            break;
        }
        if known.is_none_or(|known| size < known.size) {
            *known = Some(Holds { size, name: u64::from(u32_at(symbol, 0)) });
        }
    }
}

/// Notes a symbol at the wanted addresses for which none is nearer: at those after its end, and those before it.
fn note_nearest(symbol: &[u8], wanted: &[u64], nearest: &mut [Nearest]) {
    let Some((address, size)) = function(symbol) else { return };
    let (ends, name) = (address.saturating_add(size), u64::from(u32_at(symbol, 0)));
    let after = wanted.partition_point(|each| *each < ends);
    for known in &mut nearest[after..] {
        if known.before.is_some_and(|(end, _)| end >= ends) {
            break; // Of those that follow one is as near, too.
        }
        known.before = Some((ends, name));
    }
    let before = wanted.partition_point(|each| *each < address);
    for known in nearest[..before].iter_mut().rev() {
        if known.after.is_some_and(|(begin, _)| begin <= address) {
            break;
        }
        known.after = Some((address, name));
    }
}

/// Returns the address and the size of a function that a symbol names; `None`: it names none.
fn function(symbol: &[u8]) -> Option<(u64, u64)> {
    let (address, size) = (u64_at(symbol, 8), u64_at(symbol, 16));
    let is_defined = u16_at(symbol, 6) != 0;
    (size > 0 && is_defined && FUNCTION_KINDS.contains(&(symbol[4] & 0xf))).then_some((address, size))
}

impl Segment {
    fn parse(of: &[u8]) -> Self {
        Self { kind: u32_at(of, 0), offset: u64_at(of, 8), address: u64_at(of, 16), size: u64_at(of, 32) }
    }
}

impl Section {
    fn parse(of: &[u8]) -> Self {
        let link = u32_at(of, 40) as usize;
        Self { kind: u32_at(of, 4), offset: u64_at(of, 24), size: u64_at(of, 32), link }
    }
}

/// Reads a table of headers. Its size in the file must be the one that is known.
fn headers(file: &File, at: u64, number: u16, size: usize, most: usize) -> Result<Vec<u8>, String> {
    let number = usize::from(number);
    if number > most {
        return Err(format!("it has {number} headers"));
    }
    let mut bytes = vec![0; number * size];
    read(file, at, &mut bytes)?;
    Ok(bytes)
}

fn build_id(mut notes: &[u8]) -> Option<String> {
    while notes.len() >= 12 {
        let (name, size) = (u32_at(notes, 0) as usize, u32_at(notes, 4) as usize);
        let from = 12_usize.checked_add(name.checked_next_multiple_of(4)?)?;
        let value = notes.get(from..from.checked_add(size)?)?;
        if u32_at(notes, 8) == BUILD_ID && notes.get(12..16) == Some(b"GNU\0") && (2..=64).contains(&size) {
            return Some(value.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        notes = notes.get(from.checked_add(size.checked_next_multiple_of(4)?)?..)?;
    }
    None
}

fn read(file: &File, at: u64, bytes: &mut [u8]) -> Result<(), String> {
    file.read_exact_at(bytes, at).map_err(|error| format!("it is broken: {error}"))
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]))
}

#[cfg(test)]
#[path = "elf_tests.rs"]
mod tests;
