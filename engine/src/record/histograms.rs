//! The times of a trial's requests as histograms, and how one is written and read.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times of the requests of the measured phase.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Histograms {
    /// From due to last byte, of the requests that ended `ok`.
    pub response_time: HistogramRecord,
    /// From sent to last byte, of the same requests. Null in closed shapes: a request is sent when it is due.
    pub service_time: Option<HistogramRecord>,
    /// From sent to the first byte of the answer (of the first piece that was read), of the same requests. If an interim
    /// answer such as 103 comes before, it is the first byte of that.
    pub time_to_first_byte: HistogramRecord,
    /// From due to sent, of all requests that were sent. Null in closed shapes.
    pub lateness: Option<HistogramRecord>,
    /// The engine's own part of the lateness: from when a request was due, and a connection was free for it or could
    /// be opened, to when it was sent or the connection was begun. In closed shapes only of requests whose due time
    /// was known ahead: those after a pause, and the first request of a user who begins later.
    pub engine_lateness: HistogramRecord,
    /// From the attempt to connect to the established connection, TLS included.
    pub connect_time: HistogramRecord,
    /// From due to the failure, without timeouts.
    pub failed: HistogramRecord,
    /// From due to when the engine gave up.
    pub timed_out: HistogramRecord,
    /// How long the unfinished requests had been due when the phase ended.
    pub unfinished_age: HistogramRecord,
    /// How long requests of the warm-up lasted in the measured phase, where that phase does not count them.
    pub carried_over: HistogramRecord,
    /// How long before the measured phase those requests of the warm-up were due that the measured phase counts as
    /// its own. In a closed shape whose phase ends by the clock, it counts all that end in it or after it: otherwise
    /// it would lack the slowest requests, and the more of them the shorter it is. The times of the answers, the
    /// failures, the unfinished and the carried over, minus these times, account for every connection at every
    /// instant.
    pub taken_over: HistogramRecord,
}

/// Times, and how often each occurred. The bounds and the mean are null if there are none.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistogramRecord {
    pub count: u64,
    pub min_ns: Option<u64>,
    pub mean_ns: Option<f64>,
    pub max_ns: Option<u64>,
    /// HdrHistogram, V2 compressed, base64. Values are in ns, with three significant digits.
    pub encoded: String,
}

impl HistogramRecord {
    pub fn of(histogram: &Histogram<u64>) -> Self {
        let count = histogram.len();
        let any = |value: u64| (count > 0).then_some(value);
        Self {
            count,
            min_ns: any(histogram.min()),
            mean_ns: (count > 0).then(|| histogram.mean()),
            max_ns: any(histogram.max()),
            encoded: encoded(histogram),
        }
    }
}

/// HdrHistogram, V2 compressed, base64.
pub fn encoded(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(histogram, &mut bytes)
        .expect("a histogram of u64 always fits its own encoding");
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, bytes)
}

/// Decodes what `encoded` wrote.
pub fn decoded(text: &str) -> Histogram<u64> {
    let bytes = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, text);
    let bytes = bytes.expect("it is base64 as it was written");
    let read: Result<Histogram<u64>, _> = Deserializer::new().deserialize(&mut bytes.as_slice());
    read.expect("it is read as it was written")
}
