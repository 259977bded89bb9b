//! What the operating system sees while the load runs. Probes read; they never steer.

pub mod processes;
mod reread;
pub mod sockets;
pub mod threads;
