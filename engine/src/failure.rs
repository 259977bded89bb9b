//! Why a command of the engine failed: one sentence, and what the reader can do about it.

use std::fmt;
use std::path::Path;

#[derive(Debug)]
pub struct Failure {
    pub error: String,
    pub remedy: String,
    pub exit_code: u8,
}

impl Failure {
    /// The work could not be done (exit code 1).
    pub fn new(error: impl Into<String>) -> Self {
        Self { error: error.into(), remedy: String::new(), exit_code: 1 }
    }

    /// The input makes no sense (exit code 2).
    pub fn usage(error: impl Into<String>) -> Self {
        Self { exit_code: 2, ..Self::new(error) }
    }

    pub fn file(what: &str, path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!("{what} {}: {error}", path.display()))
    }

    pub fn thread(error: std::io::Error) -> Self {
        Self::new(format!("cannot start a thread: {error}"))
    }

    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }
}

impl fmt::Display for Failure {
    /// Writes one line of JSON. The lab reads it from standard error.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = serde_json::json!({"error": self.error, "remedy": self.remedy});
        write!(out, "{line}")
    }
}
