//! Gives names to the places where samples were, when the load is over.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::File;

use super::elf::{Between, Elf};
use super::places::{MappedFile, Places};
use super::{debug_file, perf_map, readable};
use crate::clock::now_ns;
use crate::record::{SampledBetween, SampledFunction, SampledObject};

/// Reading the symbols of all files takes no longer than this.
const ALL_NS: u64 = 1_000_000_000;
/// Nor does one of them. Those in which most samples were come first.
const ONE_NS: u64 = 500_000_000;
/// The record names the 100 functions and the 32 files with most samples.
const FUNCTIONS: usize = 100;
const OBJECTS: usize = 32;
/// The object of code made at run time.
const MADE: &str = "";
const UNKNOWN: &str = "?";

/// The files that were opened while the load ran, or why one could not be.
pub type Files = BTreeMap<MappedFile, Result<File, String>>;

#[derive(Default)]
pub struct Named {
    pub functions: Vec<SampledFunction>,
    pub between: Vec<SampledBetween>,
    pub objects: Vec<SampledObject>,
    pub named: u64,
}

/// What is known of the code at offsets of a file: the function, or else between which two it lies.
#[derive(Default)]
struct Known {
    names: BTreeMap<u64, String>,
    between: BTreeMap<u64, Between>,
}

/// Returns in which functions and files the samples were.
pub fn named(places: &Places, mut files: Files) -> Named {
    let until_ns = now_ns() + ALL_NS;
    let mut sums = Sums::default();
    let mut by_samples: Vec<_> = places.files().collect();
    by_samples.sort_by_key(|(_, at)| Reverse(at.values().sum::<u64>()));
    for (mapped, at) in by_samples {
        let found = match files.remove(mapped) {
            Some(Ok(file)) => symbols(file, at, until_ns.min(now_ns() + ONE_NS)),
            Some(Err(why)) => Err(why),
            None => Ok(Known::default()),
        };
        sums.add(&base_name(&mapped.path), at, found);
    }
    for (pid, at) in places.made() {
        let addresses: Vec<u64> = at.keys().copied().collect();
        let names = perf_map::names(pid, &addresses, until_ns);
        sums.add(MADE, at, Ok(Known { names, ..Known::default() }));
    }
    if places.elsewhere > 0 {
        sums.add(UNKNOWN, &BTreeMap::from([(0, places.elsewhere)]), Ok(Known::default()));
    }
    sums.told()
}

/// Returns the symbol at each of these offsets of a file, as far as it has one. Of a stripped file it returns
/// between which two the others lie.
fn symbols(file: File, at: &BTreeMap<u64, u64>, until_ns: u64) -> Result<Known, String> {
    let elf = Elf::open(file)?;
    let addresses: Vec<(u64, u64)> =
        at.keys().filter_map(|&offset| Some((elf.address(offset)?, offset))).collect();
    let wanted: Vec<u64> = addresses.iter().map(|(address, _)| *address).collect();
    let mut names = elf.names(&wanted, until_ns)?;
    let mut between = BTreeMap::new();
    if !elf.has_table() {
        if let Some(debug) = debug_file::of(&elf) {
            names.extend(debug.names(&wanted, until_ns)?);
        } else {
            let unnamed: Vec<u64> = wanted.into_iter().filter(|at| !names.contains_key(at)).collect();
            // Where this takes too long, the names are told all the same.
            between = elf.between(&unnamed, until_ns).unwrap_or_default();
        }
    }
    let mut known = Known::default();
    for (address, offset) in addresses {
        if let Some(name) = names.get(&address) {
            known.names.insert(offset, name.clone());
        } else if let Some(two) = between.get(&address) {
            known.between.insert(offset, two.clone());
        }
    }
    Ok(known)
}

/// Returns the name of a file without its folder.
fn base_name(path: &str) -> String {
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let name = readable::printable(path.rsplit('/').next().unwrap_or(path));
    if name.is_empty() { UNKNOWN.into() } else { name }
}

#[derive(Default)]
struct Sums {
    /// Samples by object and symbol.
    functions: BTreeMap<(String, String), u64>,
    /// Samples by object and the two functions that they are between.
    between: BTreeMap<(String, Between), u64>,
    objects: BTreeMap<String, SampledObject>,
}

impl Sums {
    fn add(&mut self, object: &str, at: &BTreeMap<u64, u64>, found: Result<Known, String>) {
        let sum = self.objects.entry(object.into()).or_insert_with(|| SampledObject {
            object: object.into(),
            samples: 0,
            named: 0,
            why: None,
        });
        sum.samples += at.values().sum::<u64>();
        let known = found.unwrap_or_else(|why| {
            sum.why.get_or_insert(why);
            Known::default()
        });
        let samples_at = |place| at.get(&place).copied().unwrap_or(0);
        for (place, name) in known.names {
            sum.named += samples_at(place);
            *self.functions.entry((object.into(), name)).or_default() += samples_at(place);
        }
        for (place, two) in known.between {
            *self.between.entry((object.into(), two)).or_default() += samples_at(place);
        }
    }

    fn told(self) -> Named {
        // Symbols that differ may have one readable name, as functions that were made from one template.
        let mut readable_too: BTreeMap<(String, String), u64> = BTreeMap::new();
        for ((object, symbol), samples) in self.functions {
            *readable_too.entry((object, readable::function(&symbol))).or_default() += samples;
        }
        let functions = readable_too.into_iter().map(|((object, function), samples)| SampledFunction {
            function,
            object,
            samples,
        });
        let between = self.between.into_iter().map(|((object, (after, before)), samples)| SampledBetween {
            after: readable::function(&after),
            before: readable::function(&before),
            object,
            samples,
        });
        let named = self.objects.values().map(|each| each.named).sum();
        Named {
            functions: most(functions, FUNCTIONS, |each| each.samples),
            between: most(between, FUNCTIONS, |each| each.samples),
            objects: most(self.objects.into_values(), OBJECTS, |each| each.samples),
            named,
        }
    }
}

/// Returns those with most samples, most first, and no more than `keep`.
fn most<T>(of: impl Iterator<Item = T>, keep: usize, samples: impl Fn(&T) -> u64) -> Vec<T> {
    let mut of: Vec<T> = of.collect();
    of.sort_by_key(|each| Reverse(samples(each)));
    of.truncate(keep);
    of
}

#[cfg(test)]
mod tests {
    use super::super::places::Place;
    use super::*;

    fn file(path: &str) -> MappedFile {
        MappedFile { device: 1, inode: path.len() as u64, path: path.into() }
    }

    #[test]
    fn a_place_without_a_name_is_in_its_file() {
        let mut places = Places::default();
        let broken = file("/usr/lib/libfoo.so (deleted)");
        (0..3).for_each(|at| places.count(Place::File(broken.clone(), at)));
        places.count(Place::Made(1, 77));
        places.count(Place::File(file("[vdso]"), 5));
        places.elsewhere += 1;
        let named = named(&places, Files::from([(broken, Err("it is gone".into()))]));
        let told: Vec<_> = named.objects.iter().map(|each| (each.object.as_str(), each.samples)).collect();
        assert_eq!(told, [("libfoo.so", 3), ("", 1), ("?", 1), ("[vdso]", 1)]);
        assert_eq!(named.objects[0].why.as_deref(), Some("it is gone"));
        assert_eq!((named.functions, named.named), (Vec::new(), 0));
    }

    #[test]
    fn symbols_with_one_readable_name_are_one_function() {
        let mut sums = Sums::default();
        let at = BTreeMap::from([(1, 2), (2, 3), (3, 4)]);
        let names =
            [(1, "_ZN1a1bEi"), (2, "_ZN1a1bEv"), (9, "c")].map(|(place, name)| (place, name.to_owned()));
        let between = BTreeMap::from([(3, ("d".to_owned(), "e".to_owned()))]);
        sums.add("x", &at, Ok(Known { names: names.into(), between }));
        let named = sums.told();
        let function = SampledFunction { function: "a::b".into(), object: "x".into(), samples: 5 };
        assert_eq!((named.functions[0].clone(), named.named), (function, 5));
        assert_eq!(named.objects[0].samples, 9);
        let between =
            SampledBetween { after: "d".into(), before: "e".into(), object: "x".into(), samples: 4 };
        assert_eq!(named.between, [between]);
    }
}
