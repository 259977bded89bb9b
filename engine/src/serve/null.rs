//! The null server of a load host, which is on loopback there: what an engine reaches against it is the ceiling of that
//! machine.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;
use crate::process_tree;

/// A null server in a process of its own, which ends when this is dropped.
pub struct Null(Child);

impl Null {
    /// Starts one with these arguments of `crumple-engine null-server`, and says its port.
    ///
    /// # Errors
    /// If it does not begin to serve.
    pub fn begin(arguments: &str) -> Result<Self, Failure> {
        let cannot = |error: io::Error| Failure::new(format!("cannot start the null server: {error}"));
        let server = process_tree::this_program()
            .arg("null-server")
            .args(arguments.split_ascii_whitespace())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(cannot)?;
        let mut null = Self(server);
        let mut line = String::new();
        let said = null.0.stdout.take().expect("it is piped");
        BufReader::new(said).read_line(&mut line).map_err(cannot)?;
        let port: Value = serde_json::from_str(&line)
            .map_err(|_| Failure::new(format!("the null server does not begin with {arguments:?}")))?;
        output::print(&json!({"null_server": port}).to_string())?;
        Ok(null)
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
