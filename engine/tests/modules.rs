//! The modules of the engine form no cycle. Only one module of the hot loop names a load shape or a kind of network.
//!
//! This reads the sources: what a module imports, and what it names by a path. Unit tests are modules of their own.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The source of each module by its path in the crate, such as `shape::closed`.
type Sources = BTreeMap<String, String>;
/// The modules that each module names.
type Named = BTreeMap<String, BTreeSet<String>>;

/// What serves a connection, from readiness to the next request, and counts.
const HOT_LOOP: [&str; 7] = ["worker", "connection", "user", "in_flight", "pacer", "ledger", "tally"];
/// The part of it that chooses the load and the network.
const CHOOSES: &str = "worker::for_plan";
/// What implements the interfaces `Load` and `Network`.
const BEHIND_INTERFACES: [&str; 7] =
    ["shape", "net::kernel", "net::simulated", "stream", "socket", "tls", "tunnel"];

#[test]
fn modules_form_no_cycle() {
    assert_eq!(cycle(&named(&sources())), None);
}

#[test]
fn top_level_modules_form_no_cycle_with_all_that_is_in_them() {
    assert_eq!(cycle(&top_level(&named(&sources()))), None);
}

#[test]
fn the_hot_loop_knows_loads_and_networks_by_their_interfaces() {
    let named = named(&sources());
    let is_loop = |module: &str| HOT_LOOP.iter().any(|part| is_in(module, part));
    let hot = named.iter().filter(|(module, _)| is_loop(module) && !is_in(module, CHOOSES));
    let hot: Vec<_> = hot.filter(|(module, _)| !module.contains("::tests")).collect();
    assert!(hot.len() > HOT_LOOP.len(), "{hot:?}");
    for (module, others) in hot {
        for other in others {
            let behind = BEHIND_INTERFACES.iter().any(|hidden| is_in(other, hidden));
            assert!(!behind, "{module} names {other}: go through the trait, or choose in {CHOOSES}");
        }
    }
    for chosen in ["net::kernel", "shape::closed", "shape::open"] {
        assert!(named[CHOOSES].contains(chosen), "{CHOOSES} does not name {chosen}");
    }
}

#[test]
fn a_cycle_is_found_however_a_module_is_named() {
    for (one, other) in [
        ("use crate::b::Other;", "use crate::a;"),
        ("use crate::{c, b::{self, Other}};", "fn f() -> crate::a::One {}"),
        ("// A comment.\npub use super::b::*;", "use super::{c::Third, a::{One as Un}};"),
        ("use crate::b::inner::Inner;", "use super::a::One;"),
    ] {
        let named = named(&invented(&[("a", one), ("b", other), ("b::inner", ""), ("c", "")]));
        assert_eq!(cycle(&top_level(&named)), Some(vec!["a", "b", "a"]), "{one} and {other}");
    }
    let parts = [("a", "mod part;\nenum E { One(part::One) }"), ("a::part", "use super::Whole;")];
    assert_eq!(cycle(&named(&invented(&parts))), Some(vec!["a", "a::part", "a"]));
}

#[test]
fn no_cycle_is_found_where_there_is_none() {
    let tests = "use crate::b::Other;\nmod tests {\n    use super::*;\n    use crate::c::Third;\n}";
    let comment = "// It is like crate::a::One.\nuse crate::c::Third;";
    let named = named(&invented(&[("a", tests), ("b", comment), ("c", "")]));
    assert_eq!(cycle(&named), None);
    assert_eq!(named["a::tests"], BTreeSet::from(["a".to_owned(), "c".to_owned()]));
    assert_eq!(named["b"], BTreeSet::from(["c".to_owned()]));
}

fn invented(sources: &[(&str, &str)]) -> Sources {
    sources.iter().flat_map(|(module, text)| apart((*module).to_owned(), text)).collect()
}

/// Returns the sources of the engine.
fn sources() -> Sources {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut sources = Sources::new();
    for file in files(&root) {
        let path = file.strip_prefix(&root).unwrap().with_extension("");
        let module = path.to_str().unwrap().replace('/', "::").replace("_tests", "::tests");
        // These name all modules, and no module names them.
        if !["lib", "main"].contains(&module.as_str()) {
            sources.extend(apart(module, &fs::read_to_string(&file).unwrap()));
        }
    }
    sources
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns a module and the unit tests at the end of its file.
fn apart(module: String, text: &str) -> Vec<(String, String)> {
    match text.split_once("\nmod tests {") {
        Some((text, tests)) => {
            vec![(format!("{module}::tests"), tests.into()), (module, text.into())]
        }
        None => vec![(module, text.into())],
    }
}

fn named(sources: &Sources) -> Named {
    let of = |module: &String, text: &String| {
        let tokens = tokens(text);
        let others = paths(&tokens).into_iter().filter_map(|path| meant(&path, module, sources));
        (module.clone(), others.filter(|other| other != module).collect())
    };
    sources.iter().map(|(module, text)| of(module, text)).collect()
}

/// Takes each top-level module with all that is in it as one.
fn top_level(named: &Named) -> Named {
    let top = |module: &str| module.split("::").next().unwrap().to_owned();
    let mut all = Named::new();
    for (module, others) in named {
        let others = others.iter().map(|other| top(other)).filter(|other| *other != top(module));
        all.entry(top(module)).or_default().extend(others);
    }
    all
}

fn is_in(module: &str, outer: &str) -> bool {
    module.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// Returns the names, the `::` and the other signs of a source, without its comments.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    for line in text.lines() {
        let mut rest = line.split("//").next().unwrap_or_default().trim_start();
        while let Some(first) = rest.chars().next() {
            let length = match rest.find(|sign: char| !is_of_name(sign)) {
                Some(0) if rest.starts_with("::") => 2,
                Some(0) => first.len_utf8(),
                Some(length) => length,
                None => rest.len(),
            };
            tokens.push(&rest[..length]);
            rest = rest[length..].trim_start();
        }
    }
    tokens
}

fn is_of_name(sign: char) -> bool {
    sign.is_alphanumeric() || sign == '_'
}

/// Returns all paths of more than one name.
fn paths<'a>(tokens: &[&'a str]) -> Vec<Vec<&'a str>> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        if tokens[at].starts_with(is_of_name) && tokens.get(at + 1) == Some(&"::") {
            at = read_path(tokens, at, Vec::new(), &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads the path that goes on at `at`, or several of them in braces. Returns the place after it.
fn read_path<'a>(
    tokens: &[&'a str],
    mut at: usize,
    mut path: Vec<&'a str>,
    found: &mut Vec<Vec<&'a str>>,
) -> usize {
    if tokens[at] == "{" {
        at += 1;
        while tokens[at] != "}" {
            at = if tokens[at] == "," { at + 1 } else { read_path(tokens, at, path.clone(), found) };
        }
        return at + 1;
    }
    if tokens[at].starts_with(is_of_name) {
        path.push(tokens[at]);
        if tokens.get(at + 1) == Some(&"::") {
            return read_path(tokens, at + 2, path, found);
        }
    }
    found.push(path);
    at + 1
}

/// Returns the module that a path in `module` leads into, or `None` if that is not one of the crate.
fn meant(path: &[&str], module: &str, sources: &Sources) -> Option<String> {
    let mut base: Vec<&str> = if path[0] == "crate" { Vec::new() } else { module.split("::").collect() };
    let mut names = path.iter().copied().skip_while(|name| ["crate", "self"].contains(name)).peekable();
    while names.next_if_eq(&"super").is_some() {
        base.pop();
    }
    let is_relative = !["crate", "self", "super"].contains(&path[0]);
    let own = base.len();
    for name in names {
        base.push(name);
        if !sources.contains_key(&base.join("::")) {
            base.pop();
            break;
        }
    }
    (!base.is_empty() && (!is_relative || base.len() > own)).then(|| base.join("::"))
}

/// Returns a way from a module back to itself, if there is one.
fn cycle(named: &Named) -> Option<Vec<&str>> {
    let mut seen = BTreeSet::new();
    named.keys().find_map(|module| walk(named, module, &mut Vec::new(), &mut seen))
}

fn walk<'a>(
    named: &'a Named,
    module: &'a str,
    way: &mut Vec<&'a str>,
    seen: &mut BTreeSet<&'a str>,
) -> Option<Vec<&'a str>> {
    if let Some(place) = way.iter().position(|other| *other == module) {
        return Some(way[place..].iter().copied().chain([module]).collect());
    }
    if !seen.insert(module) {
        return None;
    }
    way.push(module);
    let found = named.get(module).into_iter().flatten().find_map(|next| walk(named, next, way, seen));
    way.pop();
    found
}
