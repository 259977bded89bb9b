//! The workload file: a string of random characters, written to a new file, read back, and the file removed.

use std::io;
use std::path::{Path, PathBuf};

use tokio::fs;

use crate::failure::Failure;
use crate::parameters;

const LENGTH: usize = 108_000;
const LOWEST: u8 = 65;
const CODES: u8 = 57;

pub async fn written_and_read(folder: &Path, query: &str) -> Result<Vec<u8>, Failure> {
    let content = match parameters::text(query, "fill").as_deref() {
        None | Some("each") => one_by_one().into_bytes(),
        Some("bulk") => all_at_once(),
        Some(_) => return Err(Failure::BadParameter("fill must be each or bulk".into())),
    };
    let path = folder.join(format!("{:032x}", rand::random::<u128>()));
    // Spawned: hyper drops what answers a client that went away, and the file must go all the same.
    let read = tokio::spawn(through_a_file(path, content)).await??;
    Ok(read)
}

async fn through_a_file(path: PathBuf, content: Vec<u8>) -> io::Result<Vec<u8>> {
    let read = match fs::write(&path, content).await {
        Ok(()) => fs::read(&path).await,
        Err(error) => Err(error),
    };
    let removed = fs::remove_file(&path).await;
    let read = read?;
    removed?;
    Ok(read)
}

fn one_by_one() -> String {
    let mut content = String::new();
    for _ in 0..LENGTH {
        content.push(char::from(rand::random_range(LOWEST..LOWEST + CODES)));
    }
    content
}

fn all_at_once() -> Vec<u8> {
    let mut content = vec![0; LENGTH];
    rand::fill(&mut content[..]);
    for code in &mut content {
        *code = *code % CODES + LOWEST;
    }
    content
}
