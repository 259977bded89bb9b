//! What is recorded of the whole machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::unread::Unread;

/// CPU time of the whole machine, over all that used it.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineRecord {
    /// Over the measured phase; null if it could not be read at both ends.
    pub window: Option<MachineWindow>,
    /// What all processes used, each by its own clock; null if they were not read at both ends.
    pub all_processes: Option<AllProcessesWindow>,
    pub unread: Vec<Unread>,
}

/// The kernel counts these times in ticks, which are usually 10 ms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MachineWindow {
    /// From the reading at the beginning of the phase to that at its end.
    pub span_ns: u64,
    /// All time that was used: user, nice, system, irq and softirq. The engine is included, and so is a server on
    /// this machine.
    pub busy_ns: u64,
    /// How long a core had work while the hypervisor ran something else.
    pub steal_ns: u64,
    /// Cores that are online.
    pub cores: u64,
    /// Context switches on all cores, those to and from no thread among them; null if the kernel did not say.
    pub switches: Option<u64>,
    pub per_core: CoreColumns,
}

/// One row for each core that was online at both ends, at most 1,024.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CoreColumns {
    /// The kernel's number of it.
    pub core: Vec<u32>,
    pub busy_ns: Vec<u64>,
    pub steal_ns: Vec<u64>,
    /// How long it had nothing to do, waiting for a disk included.
    pub idle_ns: Vec<u64>,
}

/// What all processes of the machine used over the measured phase, which is read after the server's own and takes longer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllProcessesWindow {
    /// From the reading of all processes at the beginning of the phase to that at its end.
    pub span_ns: u64,
    /// What the kernel's own threads used, such as those that write to a disk for programs.
    pub kernel_threads_ns: u64,
    /// Other programs that used most CPU time, most first: not the engine, nor the server, nor the kernel's own threads.
    /// Those that ended meanwhile are in the time of the parents that waited for them.
    pub programs: Vec<OtherProgram>,
    /// CPU time of both readings.
    pub cost_ns: u64,
}

/// Another program that used CPU time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OtherProgram {
    pub pid: i32,
    /// As the kernel names the process: 15 bytes at most.
    pub name: String,
    /// With that of its children that ended, as far as they used it meanwhile.
    pub cpu_ns: u64,
}
