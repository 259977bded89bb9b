//! What one trial came to: the `TrialRecord`, the only thing the engine hands back.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::outcome::Outcomes;
use crate::phase::Phase;
use crate::probe::processes::Sample;
use crate::spec::TrialSpec;

/// One trial as it went. All times are in nanoseconds; all totals are of the measured phase alone,
/// and `scheduled` is the sum of the outcomes.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrialRecord {
    pub version: u32,
    pub engine_version: String,
    pub spec: TrialSpec,
    /// Wall clock at the first instant.
    pub began_unix_ns: u64,
    /// From the first instant to the beginning of the measured phase.
    pub warm_up_ns: u64,
    /// Length of the measured phase.
    pub measured_ns: u64,
    pub scheduled: u64,
    pub outcomes: Outcomes,
    pub warm_up: WarmUpRecord,
    /// Answers whose body was hashed and found right.
    pub bodies_hashed: u64,
    pub received_bytes: u64,
    pub sent_bytes: u64,
    pub connections_opened: u64,
    pub histograms: Histograms,
    pub series: Series,
    pub probes: Probes,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WarmUpRecord {
    pub scheduled: u64,
    pub outcomes: Outcomes,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histograms {
    /// From due to last byte, of the requests that ended `ok`.
    pub response_time: HistogramRecord,
    /// From the attempt to connect to the connection.
    pub connect_time: HistogramRecord,
    /// From due to the failure, timeouts apart.
    pub failed: HistogramRecord,
    /// From due to when the engine gave up.
    pub timed_out: HistogramRecord,
    /// How long the unfinished requests had been due when the phase ended.
    pub unfinished_age: HistogramRecord,
    /// How long requests of the warm-up went on in the measured phase. With the times of the answers,
    /// the failures and the unfinished it accounts for every connection at every instant.
    pub carried_over: HistogramRecord,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistogramRecord {
    pub count: u64,
    pub min_ns: Option<u64>,
    pub mean_ns: Option<f64>,
    pub max_ns: Option<u64>,
    /// HdrHistogram, V2 compressed, base64; values in ns, three significant digits.
    pub encoded: String,
}

/// One row per interval from the first instant on, column by column.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Series {
    pub interval_ms: u64,
    /// Beginning of the interval, since the first instant.
    pub at_ns: Vec<u64>,
    pub duration_ns: Vec<u64>,
    pub phase: Vec<Phase>,
    pub ok: Vec<u64>,
    pub failed: Vec<u64>,
    pub p50_ns: Vec<Option<u64>>,
    pub p99_ns: Vec<Option<u64>>,
    pub max_ns: Vec<Option<u64>>,
    /// Connections open when the interval ended.
    pub connections: Vec<u64>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Probes {
    pub engine: ProcessRecord,
    pub server: Option<ProcessRecord>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessRecord {
    pub samples: SampleColumns,
    /// Over the measured phase alone; null where it could not be read at both its ends.
    pub window: Option<Window>,
    pub unread: Vec<Unread>,
}

/// One row per sample. CPU and switches are cumulative; null = not read this time.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleColumns {
    /// Since the first instant.
    pub at_ns: Vec<u64>,
    /// How much later than due the sample was taken.
    pub late_ns: Vec<u64>,
    pub cpu_user_ns: Vec<u64>,
    pub cpu_kernel_ns: Vec<u64>,
    pub rss_bytes: Vec<u64>,
    pub pss_bytes: Vec<Option<u64>>,
    pub processes: Vec<u64>,
    pub threads: Vec<u64>,
    pub voluntary_switches: Vec<Option<u64>>,
    pub involuntary_switches: Vec<Option<u64>>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Window {
    pub cpu_user_ns: u64,
    pub cpu_kernel_ns: u64,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
    pub rss_max_bytes: u64,
    pub pss_max_bytes: Option<u64>,
    pub processes_max: u64,
    pub threads_max: u64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Unread {
    pub field: String,
    pub why: String,
}

impl HistogramRecord {
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let count = histogram.len();
        let any = |value: u64| (count > 0).then_some(value);
        let mut bytes = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut bytes)
            .expect("a histogram of u64 always fits its own encoding");
        Self {
            count,
            min_ns: any(histogram.min()),
            mean_ns: (count > 0).then(|| histogram.mean()),
            max_ns: any(histogram.max()),
            encoded: base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes),
        }
    }
}

impl SampleColumns {
    pub fn push(&mut self, sample: &Sample, began_ns: u64) {
        self.at_ns.push(sample.at_ns.saturating_sub(began_ns));
        self.late_ns.push(sample.late_ns);
        self.cpu_user_ns.push(sample.cpu_user_ns);
        self.cpu_kernel_ns.push(sample.cpu_kernel_ns);
        self.rss_bytes.push(sample.rss_bytes);
        self.pss_bytes.push(sample.pss_bytes);
        self.processes.push(sample.processes);
        self.threads.push(sample.threads);
        self.voluntary_switches.push(sample.voluntary_switches);
        self.involuntary_switches.push(sample.involuntary_switches);
    }
}

impl Window {
    /// What happened between the first and the last of `samples`; `None` where the processes were
    /// gone at either end.
    pub fn over(samples: &[Sample]) -> Option<Self> {
        let (first, last) = (samples.first()?, samples.last()?);
        if first.processes == 0 || last.processes == 0 {
            return None;
        }
        let between = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from?));
        let max = |value: fn(&Sample) -> u64| samples.iter().map(value).max().unwrap_or(0);
        Some(Self {
            cpu_user_ns: last.cpu_user_ns.saturating_sub(first.cpu_user_ns),
            cpu_kernel_ns: last.cpu_kernel_ns.saturating_sub(first.cpu_kernel_ns),
            voluntary_switches: between(first.voluntary_switches, last.voluntary_switches),
            involuntary_switches: between(first.involuntary_switches, last.involuntary_switches),
            rss_max_bytes: max(|sample| sample.rss_bytes),
            pss_max_bytes: samples.iter().filter_map(|sample| sample.pss_bytes).max(),
            processes_max: max(|sample| sample.processes),
            threads_max: max(|sample| sample.threads),
        })
    }
}
