//! The workload hash: SHA-256 of a file, again and again, in the event loop.

use std::fmt::Write;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::parameters::whole_number;

pub async fn digest(path: &Path, query: &str) -> Result<String, Failure> {
    let rounds = whole_number(query, "n", 1..=100_000, 1)?;
    let file = tokio::fs::read(path).await?;
    let mut digest = Sha256::digest(&file);
    for _ in 1..rounds {
        digest = Sha256::new()
            .chain_update(&file)
            .chain_update(digest)
            .finalize();
    }
    let mut hex = String::with_capacity(2 * digest.len());
    for byte in digest {
        write!(hex, "{byte:02x}").expect("a string takes all it is given");
    }
    Ok(hex)
}
