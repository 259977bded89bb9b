//! The workload mix: a wait, then work in the event loop, then letters.

use std::time::Duration;

use crate::failure::Failure;
use crate::parameters::whole_number;
use crate::spin::spin;

const ALPHABET: &str = "abcdefghijklmnopqrstuvwxyz";

pub async fn letters(query: &str) -> Result<String, Failure> {
    let wait_ms = whole_number(query, "wait_ms", 0..=60_000, 0)?;
    let spin_us = whole_number(query, "spin_us", 0..=10_000_000, 0)?;
    let bytes = whole_number(query, "bytes", 0..=10_000_000, 13)?;
    if wait_ms > 0 {
        tokio::time::sleep(Duration::from_millis(wait_ms as u64)).await;
    }
    spin(spin_us);
    let mut letters = ALPHABET.repeat(bytes / ALPHABET.len() + 1);
    letters.truncate(bytes);
    Ok(letters)
}
