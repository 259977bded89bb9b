//! The files that a spec names: certificates, keys, bodies, lines. Some of them come with it, and all others are on disk.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::{fs, io};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::faults::Faults;
use crate::spec::FileSpec;

/// What came with the spec, by the name that the spec has for it.
#[derive(Default)]
pub struct Carried(BTreeMap<String, Vec<u8>>);

impl Carried {
    pub fn new(files: &[FileSpec], faults: &mut Faults) -> Self {
        let mut carried = Self::default();
        for (index, file) in files.iter().enumerate() {
            match BASE64_STANDARD.decode(&file.base64) {
                Ok(bytes) => drop(carried.0.insert(file.name.clone(), bytes)),
                Err(error) => faults.add(&format!("files[{index}].base64"), format!("is no base64: {error}")),
            }
        }
        carried
    }

    /// Returns what is in the file. One that came with the spec is not looked for on disk.
    ///
    /// # Errors
    /// If it is on disk and cannot be read.
    pub fn read(&self, name: &str) -> io::Result<Cow<'_, [u8]>> {
        match self.0.get(name) {
            Some(bytes) => Ok(Cow::Borrowed(bytes)),
            None => fs::read(name).map(Cow::Owned),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::written::Written;

    fn carried(name: &str, base64: &str) -> Result<Carried, String> {
        let mut faults = Faults::default();
        let files = [FileSpec { name: name.to_owned(), base64: base64.to_owned() }];
        let carried = Carried::new(&files, &mut faults);
        faults.none().map(|()| carried).map_err(|failure| failure.error)
    }

    #[test]
    fn what_came_with_the_spec_is_not_looked_for_on_disk() {
        let on_disk = Written::new("carried", "of this disk");
        let carried = carried(on_disk.path(), "/wBhCg==").unwrap();
        assert_eq!(carried.read(on_disk.path()).unwrap(), &b"\xff\x00a\n"[..]);
        assert_eq!(Carried::default().read(on_disk.path()).unwrap(), &b"of this disk"[..]);
        assert!(carried.read("/nowhere/at/all").is_err());
    }

    #[test]
    fn what_is_no_base64_is_a_fault() {
        assert!(carried("a", "a").err().unwrap().contains("files[0].base64"));
    }
}
