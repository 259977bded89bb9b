//! Templates of requests: what they say is what is sent, and no text breaks them. This is a bounded part of what the
//! fuzz target `template` does without end.

mod mutation;
mod template;

use mutation::cases;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rand::RngExt;
use template::{LINES, Lines, assert_templates_hold, parse, render};

use crumple_engine::http::values::Files;

/// A part of a text, by its meaning.
#[derive(Clone, Debug)]
enum Part {
    /// Without an opening brace.
    Text(String),
    Brace,
    /// A brace before a character that begins no value.
    BraceBefore(char),
    Seq,
    Random(u64, u64),
    Line,
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let range = (any::<u64>(), any::<u64>(), 0..64_u32);
    vec(
        prop_oneof![
            "[^{]{0,8}".prop_map(Part::Text),
            Just(Part::Brace),
            select(vec!['"', '}', ' ', '1', 'é', ':']).prop_map(Part::BraceBefore),
            Just(Part::Seq),
            range.prop_map(|(low, more, shift)| Part::Random(low, low.saturating_add(more >> shift))),
            Just(Part::Line),
        ],
        0..12,
    )
}

/// Returns the parts as they are written in a spec.
fn written(parts: &[Part], lines: &Lines) -> String {
    let mut text = String::new();
    for part in parts {
        text += &match part {
            Part::Text(text) => text.clone(),
            Part::Brace => "{{".into(),
            Part::BraceBefore(next) => format!("{{{next}"),
            Part::Seq => "{seq}".into(),
            Part::Random(low, high) => format!("{{random:{low}-{high}}}"),
            Part::Line => format!("{{line:{}}}", lines.path()),
        };
    }
    text
}

/// Returns the parts as they are sent in the first requests.
fn expected(parts: &[Part], requests: usize) -> Vec<String> {
    let mut random = crumple_engine::random::seeded(1, 0);
    let one = |turn: usize| {
        let mut text = String::new();
        for part in parts {
            text += &match part {
                Part::Text(text) => text.clone(),
                Part::Brace => "{".into(),
                Part::BraceBefore(next) => format!("{{{next}"),
                Part::Seq => (turn + 1).to_string(),
                Part::Random(low, high) => random.random_range(*low..=*high).to_string(),
                Part::Line => LINES[turn % LINES.len()].into(),
            };
        }
        text
    };
    (0..requests).map(one).collect()
}

/// The words of a text that is read or refused.
const WORDS: &[&str] = &[
    "{",
    "{{",
    "}",
    "{seq}",
    "{random:",
    "{random:1-9}",
    "{random:9-1}",
    "{line:",
    "{line:/dev/zero}",
    "{lin",
    "e:",
    "-",
    ":",
    "1",
    "18446744073709551616",
    "/",
    "seq",
    " ",
    "\r\n",
    "é",
    "\0",
    "e",
];

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn what_is_written_goes_out(parts in parts()) {
        let lines = Lines::new("written");
        let mut files = Files::default();
        let template = parse(&written(&parts, &lines), &mut files).unwrap();
        let rendered = render(&template, &files);
        let rendered: Vec<_> = rendered.into_iter().map(|text| String::from_utf8(text).unwrap()).collect();
        prop_assert_eq!(&rendered, &expected(&parts, rendered.len()));
    }

    #[test]
    fn no_text_breaks_a_template(words in vec(select(WORDS), 0..12)) {
        let lines = Lines::new("words");
        assert_templates_hold(&words.concat(), &lines);
    }
}

#[test]
fn no_other_file_is_read() {
    let lines = Lines::new("confined");
    for text in ["{line:/dev/zero}", "{line:/dev/zero", "{{line:/dev/zero}", "{line:{line:/dev/zero}"] {
        let confined = lines.confine(text);
        assert!(confined.contains(lines.path()) && !confined.contains("zero"), "{confined}");
    }
}
