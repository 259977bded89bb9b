//! Rows that are set aside until the trial is over. They are in a file without a name, so that a long trial needs no
//! more memory than a short one. The content of the rows does not matter here.

use std::fs::File;
use std::marker::PhantomData;
use std::os::unix::fs::FileExt;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Rows are written to the file when they take this many bytes.
const BUFFER_BYTES: usize = 16 * 1024;

/// Rows in the order in which they came. If there is no file, or its disk is full, they stay in memory.
pub struct Spool<T> {
    file: Option<File>,
    written: u64,
    buffer: Vec<u8>,
    rows: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Spool<T> {
    pub fn open() -> Self {
        Self::over(tempfile::tempfile().ok())
    }

    fn over(file: Option<File>) -> Self {
        Self { file, written: 0, buffer: Vec::with_capacity(BUFFER_BYTES), rows: PhantomData }
    }

    pub fn push(&mut self, row: &T) {
        serde_json::to_writer(&mut self.buffer, row).expect("rows are plain numbers and text");
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER_BYTES {
            self.write_out();
        }
    }

    /// Returns all rows.
    pub fn rows(&self) -> Vec<T> {
        let mut text = vec![0; self.written as usize];
        if let Some(file) = &self.file {
            file.read_exact_at(&mut text, 0).expect("what was written can be read");
        }
        text.extend_from_slice(&self.buffer);
        let rows = serde_json::Deserializer::from_slice(&text).into_iter();
        rows.map(|row| row.expect("rows are read as they were written")).collect()
    }

    fn write_out(&mut self) {
        let Some(file) = &self.file else {
            return;
        };
        // If a full disk took a part of the rows, it is overwritten the next time; `rows` reads them from the buffer.
        if file.write_all_at(&self.buffer, self.written).is_ok() {
            self.written += self.buffer.len() as u64;
            self.buffer.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(mut spool: Spool<(u64, Option<String>)>) -> Spool<(u64, Option<String>)> {
        for number in 0..10_000 {
            spool.push(&(number, (number % 3 == 0).then(|| format!("{number}\n"))));
        }
        spool
    }

    fn assert_whole(spool: Spool<(u64, Option<String>)>) {
        let rows = spool.rows();
        assert_eq!(rows.len(), 10_000);
        assert!(rows.iter().zip(0..).all(|(row, number)| row.0 == number));
        assert_eq!(rows[9_999].1.as_deref(), Some("9999\n"));
        assert_eq!(rows[1].1, None);
    }

    #[test]
    fn rows_come_back_in_order_and_take_no_memory_meanwhile() {
        let spool = filled(Spool::open());
        assert!(spool.buffer.capacity() <= 2 * BUFFER_BYTES);
        assert!(spool.written > 100_000);
        assert_whole(spool);
    }

    #[test]
    fn without_a_file_they_stay_in_memory() {
        assert_whole(filled(Spool::over(None)));
    }

    #[test]
    fn a_disk_that_takes_nothing_loses_nothing() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        assert_whole(filled(Spool::over(Some(full))));
    }
}
