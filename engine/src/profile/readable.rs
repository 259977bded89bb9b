//! Makes of a symbol what a person may read: of Rust and C++ the function's own name, and of anything else no more than can
//! be printed. Programs name their functions as they like.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Names are cut to this length.
const CHARS: usize = 200;

/// Returns the name of a function.
pub fn function(symbol: &str) -> String {
    printable(&rust(symbol).or_else(|| cpp(symbol)).unwrap_or_else(|| symbol.to_owned()))
}

/// Returns the text without what moves a terminal's cursor or turns the direction of writing, and no longer than it may be.
pub fn printable(text: &str) -> String {
    text.chars().take(CHARS).map(|of| if is_hidden(of) { '\u{fffd}' } else { of }).collect()
}

fn is_hidden(of: char) -> bool {
    let turns = matches!(of, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
    of.is_control() || turns
}

fn rust(symbol: &str) -> Option<String> {
    let found = rustc_demangle::try_demangle(symbol).ok()?;
    let mut name = Cut::default();
    let _ = write!(name, "{found:#}"); // Without the hash. What is cut off ends it.
    Some(name.0)
}

fn cpp(symbol: &str) -> Option<String> {
    if !symbol.starts_with("_Z") {
        return None;
    }
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut name = Cut::default();
    // A few letters may stand for a name of any length, so it is cut while it is written.
    let written = Symbol::new(symbol).ok()?.structured_demangle(&mut name, &options);
    (written.is_ok() || name.0.len() >= CHARS).then_some(name.0)
}

/// Text that takes no more than it may hold.
#[derive(Default)]
struct Cut(String);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = CHARS.saturating_sub(self.0.len());
        self.0.extend(text.chars().take(left));
        if left == 0 { Err(fmt::Error) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rust_and_cpp_are_read() {
        for (symbol, name) in [
            ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
            ("_RNvCskwGfYPst2Cb_3foo16example_function", "foo::example_function"),
            (
                "_ZN2v88internal20MarkCompactCollector14CollectGarbageEv",
                "v8::internal::MarkCompactCollector::CollectGarbage",
            ),
            ("runtime.gcDrain", "runtime.gcDrain"),
            ("_Zxx", "_Zxx"),
            ("gc_mark.part.0", "gc_mark.part.0"),
        ] {
            assert_eq!(function(symbol), name);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_replaced() {
        assert_eq!(function("a\x1b[2J\r\n\u{202e}b"), "a\u{fffd}[2J\u{fffd}\u{fffd}\u{fffd}b");
        assert_eq!(function(&"x".repeat(5_000)).len(), CHARS);
    }

    #[test]
    fn a_name_that_would_become_endless_is_cut() {
        // Each S1_ stands for two of what came before it: 2^40 letters.
        let mut symbol = "_Z1fI1aE".to_owned();
        (0..40).for_each(|_| symbol.insert_str(4, "ISt4pairI1a1aE"));
        assert!(function(&symbol).chars().count() <= CHARS);
    }
}
