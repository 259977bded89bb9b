//! What is recorded where nothing could be read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A field that could not be read, and why, so that a missing value never looks like zero.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    pub field: String,
    pub why: String,
}
