//! The debug file of a program that was stripped, where the distribution's package for it is installed.

use super::elf::Elf;
use super::mapped_file;

const FOLDER: &str = "/usr/lib/debug/.build-id";

/// Returns the file that has the symbols of this one; `None`: there is none.
pub fn of(elf: &Elf) -> Option<Elf> {
    let id = elf.build_id()?;
    let (folder, name) = id.split_at_checked(2)?;
    Elf::open(mapped_file::plain(&format!("{FOLDER}/{folder}/{name}.debug")).ok()?).ok()
}
