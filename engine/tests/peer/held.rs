//! An engine whose load is held until it is told to go on.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStderr, Stdio};

use serde_json::Value;

pub struct Held {
    pub engine: Child,
    lines: Lines<BufReader<ChildStderr>>,
}

impl Held {
    pub fn start(spec: &Value) -> Self {
        let mut engine = super::engine().arg("run").stdin(Stdio::piped()).spawn().unwrap();
        engine.stdin.as_mut().unwrap().write_all(spec.to_string().as_bytes()).unwrap();
        let lines = BufReader::new(engine.stderr.take().unwrap()).lines();
        Self { engine, lines }
    }

    /// Returns the next line that is not progress.
    pub fn says(&mut self) -> Value {
        let mut values =
            self.lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        values.find(|value| value.get("at_s").is_none()).unwrap_or_default()
    }

    pub fn tell(&mut self, line: &str) {
        writeln!(self.engine.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    pub fn record(self) -> Value {
        let output = self.engine.wait_with_output().unwrap();
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).unwrap()
    }
}
