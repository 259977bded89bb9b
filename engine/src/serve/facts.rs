//! What the machine is that a load comes from, as far as a lab on another one has to know.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::ptr;

use rustix::process::{Resource, getrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::failure::Failure;
use crate::output;
use crate::spec::CONTRACT_VERSION;

/// The machine that a load comes from. Null = it does not say.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Facts {
    pub engine_version: String,
    /// Of the documents.
    pub contract_version: u32,
    /// The kernel's release.
    pub kernel: Option<String>,
    /// Which start of a kernel this is: the same of all that share its cores.
    pub boot_id: Option<String>,
    /// The network namespace, as the kernel names it.
    pub network_namespace: Option<String>,
    pub cpu_model: Option<String>,
    /// The cores that an engine may use there.
    pub cores: Vec<usize>,
    /// These cores, by the physical core that they share; empty if the kernel does not say.
    pub physical_cores: Vec<Vec<usize>>,
    /// How many cores' worth of CPU time the control group grants; null if it sets no limit, or does not say.
    pub cpu_quota_cores: Option<f64>,
    /// What sets the cores' clock rate; several with commas if they differ.
    pub governor: Option<String>,
    /// How far the soft limit of open files can be raised; null = as far as one likes.
    pub open_files_hard: Option<u64>,
    /// First and last local port of connections to others.
    pub port_range: Option<(u16, u16)>,
    pub memory_bytes: Option<u64>,
    pub memory_available_bytes: Option<u64>,
    /// All its own, of every interface.
    pub addresses: Vec<IpAddr>,
    /// The address that the lab's machine has for it; null if the lab does not come by ssh.
    pub lab_address: Option<IpAddr>,
}

impl Facts {
    pub fn read() -> Self {
        let cores = usable_cores();
        let files = getrlimit(Resource::Nofile);
        Self {
            engine_version: env!("CARGO_PKG_VERSION").into(),
            contract_version: CONTRACT_VERSION,
            kernel: text("/proc/sys/kernel/osrelease"),
            boot_id: text("/proc/sys/kernel/random/boot_id"),
            network_namespace: fs::read_link("/proc/self/ns/net").ok().map(|link| link.display().to_string()),
            cpu_model: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| model(&text)),
            physical_cores: physical_cores(&cores),
            cpu_quota_cores: cpu_quota_cores(),
            governor: governor(&cores),
            open_files_hard: files.maximum,
            port_range: text("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| ports(&text)),
            memory_bytes: meminfo("MemTotal:"),
            memory_available_bytes: meminfo("MemAvailable:"),
            addresses: addresses(),
            lab_address: std::env::var("SSH_CONNECTION").ok().and_then(|text| lab_address(&text)),
            cores,
        }
    }
}

pub fn print() -> Result<(), Failure> {
    output::print(&json!({"facts": Facts::read()}).to_string())
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn model(cpuinfo: &str) -> Option<String> {
    let named = |name: &str| {
        let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        lines.map(|(key, value)| (key.trim(), value.trim())).find(|(key, _)| *key == name)
    };
    let names = ["model name", "Model", "Hardware", "cpu model"];
    names.into_iter().find_map(named).map(|(_, value)| value.to_owned())
}

fn usable_cores() -> Vec<usize> {
    let ours = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|&core| ours.is_set(core)).collect()
}

fn physical_cores(cores: &[usize]) -> Vec<Vec<usize>> {
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for &core in cores {
        let list = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        let Some(siblings) = text(&list) else { return Vec::new() };
        match groups.iter_mut().find(|(which, _)| *which == siblings) {
            Some((_, group)) => group.push(core),
            None => groups.push((siblings, vec![core])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn governor(cores: &[usize]) -> Option<String> {
    let of = |core: &usize| text(&format!("/sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor"));
    let mut found: Vec<String> = cores.iter().filter_map(of).collect();
    found.sort();
    found.dedup();
    (!found.is_empty()).then(|| found.join(", "))
}

/// The least that a control group of this process, or one above it, grants.
fn cpu_quota_cores() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let granted = groups.lines().filter_map(|line| {
        let (_, controllers, group) = {
            let mut parts = line.splitn(3, ':');
            (parts.next()?, parts.next()?, parts.next()?)
        };
        let levels = |root: &str, read: fn(&str) -> Option<f64>| {
            let folders = std::path::Path::new(group).ancestors();
            let each = folders.filter_map(|folder| read(&format!("{root}{}", folder.display())));
            each.min_by(f64::total_cmp)
        };
        match controllers {
            "" => levels("/sys/fs/cgroup", quota_v2),
            _ if controllers.split(',').any(|each| each == "cpu") => levels("/sys/fs/cgroup/cpu", quota_v1),
            _ => None,
        }
    });
    granted.min_by(f64::total_cmp)
}

fn quota_v2(folder: &str) -> Option<f64> {
    let text = text(&format!("{folder}/cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

fn quota_v1(folder: &str) -> Option<f64> {
    let number = |file: &str| text(&format!("{folder}/cpu.cfs_{file}_us"))?.parse::<f64>().ok();
    number("quota").filter(|&quota| quota > 0.0).zip(number("period")).map(|(quota, period)| quota / period)
}

fn ports(text: &str) -> Option<(u16, u16)> {
    let mut ports = text.split_ascii_whitespace().map(str::parse);
    Some((ports.next()?.ok()?, ports.next()?.ok()?))
}

fn meminfo(name: &str) -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// The first field of `SSH_CONNECTION` is the address of the client.
fn lab_address(connection: &str) -> Option<IpAddr> {
    connection.split(' ').next()?.parse().ok()
}

fn addresses() -> Vec<IpAddr> {
    let mut list = ptr::null_mut();
    // SAFETY: The pointer is to a live value; the list is freed below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut next = list;
    // SAFETY: Each entry is valid until the list is freed, and the last one's `ifa_next` is null.
    while let Some(entry) = unsafe { next.as_ref() } {
        // SAFETY: The kernel's library says of an address by its family which type it has.
        found.extend(unsafe { address(entry.ifa_addr) });
        next = entry.ifa_next;
    }
    // SAFETY: The list is of `getifaddrs`, and nothing refers to it any more.
    unsafe { libc::freeifaddrs(list) };
    found.sort();
    found.dedup();
    found
}

/// # Safety
/// The pointer is null, or to an address of the type that its family says.
unsafe fn address(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: As the caller promises.
    let family = i32::from(unsafe { at.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: As the caller promises.
            let address = unsafe { at.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: As the caller promises.
            let address = unsafe { at.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}
