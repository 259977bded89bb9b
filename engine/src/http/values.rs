//! The values of varying requests: a number, random numbers, lines of files. `template.rs` says where in a request
//! they stand.

use std::sync::Arc;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::carried::Carried;
use crate::part::Part;

/// The values of one request. Its number and its lines are the same wherever they stand in it. Each random number is
/// drawn anew.
pub struct Values<'a> {
    part: Part,
    turn: u64,
    last_seq: &'a mut u64,
    seq: Option<u64>,
    random: &'a mut Xoshiro256PlusPlus,
}

impl<'a> Values<'a> {
    /// `turn` is the number of requests of its kind before it. `last_seq` is the last number that any request took;
    /// this request takes the next one if it needs one. Both are of this `part` alone.
    pub fn new(part: Part, turn: u64, last_seq: &'a mut u64, random: &'a mut Xoshiro256PlusPlus) -> Self {
        Self { part, turn, last_seq, seq: None, random }
    }

    /// Returns the number of the request, from 1 on. No two requests of any part have the same.
    pub fn seq(&mut self) -> u64 {
        *self.seq.get_or_insert_with(|| {
            *self.last_seq += 1;
            self.part.number(*self.last_seq - 1) + 1
        })
    }

    /// Returns a random number from `low` to `high`, both included.
    pub fn random(&mut self, low: u64, high: u64) -> u64 {
        self.random.random_range(low..=high)
    }

    /// Returns the lines one after the other, and then begins with the first again.
    pub fn line<'f>(&self, file: &'f File) -> &'f [u8] {
        file.line((self.part.number(self.turn) % file.ends.len() as u64) as usize)
    }
}

/// The lines of a file. There is at least one; empty lines are left out.
pub struct File {
    path: String,
    text: Vec<u8>,
    /// Where each line ends in the text.
    ends: Vec<usize>,
}

impl File {
    fn read(path: &str, carried: &Carried) -> Result<Self, String> {
        let read =
            carried.read(path).map_err(|error| format!("names {path}, which cannot be read: {error}"))?;
        let mut file = Self { path: path.into(), text: Vec::with_capacity(read.len()), ends: Vec::new() };
        for line in read.split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                file.text.extend_from_slice(line);
                file.ends.push(file.text.len());
            }
        }
        if file.ends.is_empty() {
            return Err(format!("names {path}, which holds no line: write one value per line"));
        }
        Ok(file)
    }

    fn line(&self, index: usize) -> &[u8] {
        let begins = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[begins..self.ends[index]]
    }

    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        (0..self.ends.len()).map(|index| self.line(index))
    }
}

/// The files that one request names. Each is read once.
#[derive(Default)]
pub struct Files {
    carried: Arc<Carried>,
    read: Vec<File>,
}

impl Files {
    pub fn of(carried: &Arc<Carried>) -> Self {
        Self { carried: Arc::clone(carried), read: Vec::new() }
    }

    /// Returns the index of the lines of `path`.
    ///
    /// # Errors
    /// A sentence without its subject, if the file cannot be read or holds no line.
    pub fn open(&mut self, path: &str) -> Result<usize, String> {
        if let Some(index) = self.read.iter().position(|file| file.path == path) {
            return Ok(index);
        }
        self.read.push(File::read(path, &self.carried)?);
        Ok(self.read.len() - 1)
    }

    pub fn get(&self, index: usize) -> &File {
        &self.read[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::Written;

    fn lines(name: &str, text: impl AsRef<[u8]>) -> Result<Vec<Vec<u8>>, String> {
        let written = Written::new(name, text);
        File::read(written.path(), &Carried::default()).map(|file| file.lines().map(<[u8]>::to_vec).collect())
    }

    #[test]
    fn lines_end_as_on_any_system_and_empty_ones_are_left_out() {
        assert_eq!(lines("endings", "a b\r\n\né\n\r\nlast").unwrap(), ["a b", "é", "last"].map(Vec::from));
    }

    #[test]
    fn lines_are_bytes() {
        assert_eq!(lines("bytes", b"\xff\x00\n\xfe").unwrap(), [b"\xff\x00".to_vec(), b"\xfe".to_vec()]);
    }

    #[test]
    fn a_file_without_lines_is_a_fault() {
        assert!(lines("empty", "\n\r\n").unwrap_err().contains("holds no line"));
    }

    #[test]
    fn a_file_is_read_once() {
        let written = Written::new("once", "x");
        let mut files = Files::default();
        assert_eq!(files.open(written.path()), Ok(0));
        let path = written.path().to_owned();
        drop(written);
        assert_eq!(files.open(&path), Ok(0));
        assert!(files.open("/nowhere/at/all").unwrap_err().contains("cannot be read"));
    }
}
