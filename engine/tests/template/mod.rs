//! What must hold of templates for any text. The tests call it with texts made of the words on which a template's
//! parsing depends, the fuzz target with texts of its own.

#![allow(dead_code, reason = "each test binary and fuzz target uses its part")]

use std::fs;
use std::path::PathBuf;

use crumple_engine::faults::Faults;
use crumple_engine::http::lines::is_value;
use crumple_engine::http::template::Template;
use crumple_engine::http::values::{Files, Values};
use crumple_engine::part::Part;
use crumple_engine::random;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The lines of the file that templates may name.
pub const LINES: [&str; 3] = ["/ham", "two eggs", "{seq}"];

/// A file of lines. It is removed when this is dropped.
pub struct Lines(PathBuf);

impl Lines {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("crumple-template-{}-{name}", std::process::id()));
        fs::write(&path, LINES.join("\n")).unwrap();
        Self(path)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }

    /// Returns `text` with every other file replaced by this one, as some files never end.
    pub fn confine(&self, text: &str) -> String {
        let mut confined = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("{line:") {
            let (before, value) = rest.split_at(at);
            let end = value.find('}').unwrap_or(value.len());
            confined.push_str(before);
            confined.push_str(&format!("{{line:{}", self.path()));
            rest = &value[end..];
        }
        confined + rest
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// The source of the values of a trial's requests.
pub struct Source {
    last_seq: u64,
    random: Xoshiro256PlusPlus,
}

impl Source {
    pub fn new() -> Self {
        Self { last_seq: 0, random: random::seeded(1, 0) }
    }

    /// Returns the values of the request before which `turn` others came.
    pub fn values(&mut self, turn: u64) -> Values<'_> {
        Values::new(Part::WHOLE, turn, &mut self.last_seq, &mut self.random)
    }
}

/// Returns the template that was read from a text, or its faults.
pub fn parse(text: &str, files: &mut Files) -> Result<Template, String> {
    let mut faults = Faults::default();
    let template = Template::parse(text, "path", files, &mut faults);
    match (template, faults.none()) {
        (Some(template), Ok(())) => Ok(template),
        (None, Err(failure)) => Err(failure.error),
        (template, _) => panic!("{text:?} is read and has faults, or neither: {}", template.is_some()),
    }
}

/// Returns the text as it is in the first requests, in their order.
pub fn render(template: &Template, files: &Files) -> Vec<Vec<u8>> {
    let mut source = Source::new();
    let rendered = |turn| {
        let mut out = b"before".to_vec();
        template.render(files, &mut source.values(turn), &mut out);
        assert!(out.starts_with(b"before"), "what was there stays");
        out.split_off("before".len())
    };
    (0..2 * LINES.len() as u64).map(rendered).collect()
}

/// Asserts that what a template says beforehand holds of every text that is rendered from it.
pub fn assert_templates_hold(text: &str, lines: &Lines) {
    let text = lines.confine(text);
    let mut files = Files::default();
    let Ok(template) = parse(&text, &mut files) else {
        return;
    };
    let rendered = render(&template, &files);
    assert_eq!(render(&template, &files), rendered, "the same values, the same text");
    if let Some(fixed) = template.fixed() {
        assert!(rendered.iter().all(|rendered| rendered == fixed), "{text:?}");
    }
    if !text.contains('{') {
        assert_eq!(template.fixed(), Some(text.as_bytes()));
    }
    // What was checked of a request before the clock starts must hold while it runs.
    let lawful: [fn(&[u8]) -> bool; 3] = [
        |text| text.iter().all(u8::is_ascii_graphic),
        |text| text.iter().all(|&byte| is_value(byte)),
        |text| !text.contains(&b'e'),
    ];
    for is_lawful in lawful {
        if template.find_unlike(&files, is_lawful).is_none() {
            assert!(rendered.iter().all(|rendered| is_lawful(rendered)), "{text:?}");
        }
    }
    for byte in [b'/', b'1', b'{'] {
        if template.begins_with(byte, &files) {
            assert!(rendered.iter().all(|rendered| rendered.first() == Some(&byte)), "{text:?}");
        }
    }
    assert_joined_as_apart(&text, &mut files, &rendered);
}

/// Asserts that a template joined from parts renders what its parts render.
fn assert_joined_as_apart(text: &str, files: &mut Files, rendered: &[Vec<u8>]) {
    let mut joined = Template::text(b"<");
    joined.push(parse(text, files).unwrap());
    joined.push_text(b">");
    for (joined, alone) in render(&joined, files).iter().zip(rendered) {
        assert_eq!(joined, &[b"<", alone.as_slice(), b">"].concat(), "{text:?}");
    }
}
