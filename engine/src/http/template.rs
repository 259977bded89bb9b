//! A text in which some parts vary from request to request: `{seq}`, `{random:1-1000}` and `{line:FILE}` stand for
//! values, `{{` for a brace. Pure: the values and the lines of files are passed in.
//!
//! Only a brace before a letter begins a value, so that JSON needs no escapes: `{"id": {seq}}`.

use crate::faults::Faults;
use crate::http::values::{Files, Values};

#[derive(Default)]
pub struct Template {
    parts: Vec<Part>,
}

enum Part {
    Text(Vec<u8>),
    /// The number of the request.
    Seq,
    /// A whole number, from `low` to `high`, both included.
    Random {
        low: u64,
        high: u64,
    },
    /// A line of the file with this index.
    Line(usize),
}

impl Template {
    /// A text that does not vary.
    pub fn text(bytes: &[u8]) -> Self {
        let mut template = Self::default();
        template.push_text(bytes);
        template
    }

    /// Reads `text`. Returns `None` if it has faults, which are reported under `key`.
    pub fn parse(text: &str, key: &str, files: &mut Files, faults: &mut Faults) -> Option<Self> {
        let mut template = Self::default();
        let mut is_sound = true;
        let mut rest = text;
        while let Some(at) = rest.find('{') {
            template.push_text(&rest.as_bytes()[..at]);
            let behind = &rest[at + 1..];
            if !behind.starts_with(|next: char| next.is_ascii_alphabetic()) {
                template.push_text(b"{");
                rest = behind.strip_prefix('{').unwrap_or(behind);
                continue;
            }
            let read = behind.split_once('}').map(|(value, after)| (part(value, files), after));
            let (part, after) = read.unwrap_or_else(|| (Err(unknown(&rest[at..])), ""));
            match part {
                Ok(part) => template.parts.push(part),
                Err(what) => {
                    faults.add(key, what);
                    is_sound = false;
                }
            }
            rest = after;
        }
        template.push_text(rest.as_bytes());
        is_sound.then_some(template)
    }

    pub fn push_text(&mut self, bytes: &[u8]) {
        match self.parts.last_mut() {
            Some(Part::Text(text)) => text.extend_from_slice(bytes),
            _ if bytes.is_empty() => {}
            _ => self.parts.push(Part::Text(bytes.to_vec())),
        }
    }

    pub fn push(&mut self, other: Self) {
        for part in other.parts {
            match part {
                Part::Text(text) => self.push_text(&text),
                part => self.parts.push(part),
            }
        }
    }

    /// Returns its bytes, if nothing in it varies.
    pub fn fixed(&self) -> Option<&[u8]> {
        match self.parts.as_slice() {
            [] => Some(b""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the first of its texts, and of the lines that may stand in it, for which `is_lawful` is false.
    pub fn find_unlike<'a>(
        &'a self,
        files: &'a Files,
        is_lawful: impl Fn(&[u8]) -> bool,
    ) -> Option<&'a [u8]> {
        self.parts.iter().find_map(|part| match part {
            Part::Text(text) => (!is_lawful(text)).then_some(text.as_slice()),
            Part::Line(file) => files.get(*file).lines().find(|line| !is_lawful(line)),
            Part::Seq | Part::Random { .. } => None,
        })
    }

    /// Returns whether it begins with `byte` whatever its values are.
    pub fn begins_with(&self, byte: u8, files: &Files) -> bool {
        match self.parts.first() {
            Some(Part::Text(text)) => text.first() == Some(&byte),
            Some(Part::Line(file)) => files.get(*file).lines().all(|line| line.first() == Some(&byte)),
            Some(Part::Seq | Part::Random { .. }) | None => false,
        }
    }

    /// Appends the text to `out`, with `values` and lines of `files` in it.
    pub fn render(&self, files: &Files, values: &mut Values, out: &mut Vec<u8>) {
        for part in &self.parts {
            match part {
                Part::Text(text) => out.extend_from_slice(text),
                Part::Seq => push_decimal(out, values.seq()),
                Part::Random { low, high } => push_decimal(out, values.random(*low, *high)),
                Part::Line(file) => out.extend_from_slice(values.line(files.get(*file))),
            }
        }
    }
}

fn push_decimal(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Reads what stands between braces. The error is a sentence without its subject.
fn part(value: &str, files: &mut Files) -> Result<Part, String> {
    match value.split_once(':') {
        None if value == "seq" => Ok(Part::Seq),
        Some(("random", range)) => random(range),
        Some(("line", path)) => files.open(path).map(Part::Line),
        _ => Err(unknown(&format!("{{{value}}}"))),
    }
}

fn unknown(text: &str) -> String {
    format!(
        "holds {text}, which stands for no value: write {{seq}}, {{random:1-1000}} or {{line:FILE}}, and {{{{ \
         for a brace"
    )
}

fn random(range: &str) -> Result<Part, String> {
    let ends = range.split_once('-').and_then(|(low, high)| Some((low.parse().ok()?, high.parse().ok()?)));
    match ends {
        Some((low, high)) if low <= high => Ok(Part::Random { low, high }),
        Some(_) => Err(format!("holds {{random:{range}}}, an empty range: begin with the smaller number")),
        None => {
            Err(format!("holds {{random:{range}}}: write two whole numbers, for instance {{random:1-1000}}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use crate::written::Written;

    fn parse(text: &str, files: &mut Files) -> Result<Template, String> {
        let mut faults = Faults::default();
        let template = Template::parse(text, "path", files, &mut faults);
        match faults.none() {
            Ok(()) => Ok(template.expect("it has no faults")),
            Err(failure) => {
                assert!(template.is_none());
                Err(failure.error)
            }
        }
    }

    /// Returns the text as it is in the first `count` requests.
    fn render(text: &str, count: u64) -> Vec<String> {
        let mut files = Files::default();
        let template = parse(text, &mut files).unwrap();
        let (mut last_seq, mut random) = (0, random::seeded(1, 0));
        let rendered = |turn| {
            let mut out = Vec::new();
            let whole = crate::part::Part::WHOLE;
            template.render(&files, &mut Values::new(whole, turn, &mut last_seq, &mut random), &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..count).map(rendered).collect()
    }

    #[test]
    fn values_stand_where_the_text_names_them() {
        let words = Written::new("words", "ham\neggs\n");
        let text = format!("/a/{{seq}}?w={{line:{}}}&n={{random:7-7}}", words.path());
        assert_eq!(render(&text, 3), ["/a/1?w=ham&n=7", "/a/2?w=eggs&n=7", "/a/3?w=ham&n=7"]);
    }

    #[test]
    fn one_request_has_one_number_and_one_line_of_a_file() {
        let words = Written::new("same", "ham\neggs");
        let text = format!("{{seq}} {{seq}} {{line:{0}}} {{line:{0}}}", words.path());
        assert_eq!(render(&text, 2), ["1 1 ham ham", "2 2 eggs eggs"]);
    }

    #[test]
    fn json_needs_no_escapes() {
        let text = r#"{"id": {seq}, "of": {"n": {}}, "t": "{{seq}"}"#;
        let expected = r#"{"id": 1, "of": {"n": {}}, "t": "{seq}"}"#;
        assert_eq!(render(text, 1), [expected]);
    }

    #[test]
    fn random_values_lie_within_their_range_and_reach_its_ends() {
        for (low, high) in [(0, 1), (5, 9), (u64::MAX - 2, u64::MAX)] {
            let text = format!("{{random:{low}-{high}}}");
            let drawn = render(&text, 500);
            let mut drawn: Vec<u64> = drawn.iter().map(|text| text.parse().unwrap()).collect();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn, (low..=high).collect::<Vec<u64>>());
        }
        assert!(parse(&format!("{{random:0-{}}}", u64::MAX), &mut Files::default()).is_ok());
    }

    #[test]
    fn faults_name_their_key_and_a_remedy() {
        for (text, said) in [
            ("/{sequence}", "{seq}"),
            ("/{seq", "{seq}"),
            ("/{Seq}", "{seq}"),
            ("/{random}", "{random:1-1000}"),
            ("/{random:a-b}", "{random:1-1000}"),
            ("/{random:-1-5}", "{random:1-1000}"),
            ("/{random:9-1}", "smaller number"),
            ("/{line:/nowhere/at/all}", "names /nowhere/at/all"),
        ] {
            let error = parse(text, &mut Files::default()).err().unwrap();
            assert!(error.contains(": path ") && error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn all_faults_of_a_text_are_named() {
        let error = parse("/{a}/{b}", &mut Files::default()).err().unwrap();
        assert!(error.contains("{a}") && error.contains("{b}"), "{error}");
    }

    #[test]
    fn texts_and_lines_are_held_against_what_they_must_be() {
        let words = Written::new("lawful", "/ham\n/two eggs");
        let mut files = Files::default();
        let template = parse(&format!("{{line:{}}}-{{seq}}", words.path()), &mut files).unwrap();
        assert_eq!(template.find_unlike(&files, |text| !text.contains(&b' ')), Some(&b"/two eggs"[..]));
        assert_eq!(template.find_unlike(&files, |text| text != b"-"), Some(&b"-"[..]));
        assert_eq!(template.find_unlike(&files, |_| true), None);
        assert!(template.begins_with(b'/', &files) && !template.begins_with(b'-', &files));
        assert!(!parse("{seq}/", &mut files).unwrap().begins_with(b'/', &files));
    }

    #[test]
    fn a_text_without_values_is_fixed() {
        assert_eq!(parse("a{{b}{", &mut Files::default()).unwrap().fixed(), Some(&b"a{b}{"[..]));
        assert_eq!(Template::default().fixed(), Some(&b""[..]));
        assert_eq!(parse("a{seq}", &mut Files::default()).unwrap().fixed(), None);
    }
}
