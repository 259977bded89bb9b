//! What the operating system sees while the load runs. Probes read; they never steer.

pub mod processes;
