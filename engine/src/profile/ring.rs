//! The records in the buffer that the kernel writes samples to. Pure: the bytes are passed in.

const SAMPLE: u32 = 9;
const LOST: u32 = 2;
const HEADER_BYTES: usize = 8;

/// What the records of a piece of the buffer say.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Where the thread was, an address for each sample.
    pub addresses: Vec<u64>,
    /// Samples that the kernel could not write, as the buffer was full.
    pub lost: u64,
}

/// Returns the bytes from `tail` to `head` of a buffer that begins again at its end; the positions only rise. Of positions
/// that make no sense, it returns nothing.
pub fn unrolled(buffer: &[u8], tail: u64, head: u64) -> Vec<u8> {
    let length = head.wrapping_sub(tail) as usize;
    if buffer.is_empty() || length > buffer.len() {
        return Vec::new();
    }
    let from = (tail % buffer.len() as u64) as usize;
    let first = length.min(buffer.len() - from);
    [&buffer[from..from + first], &buffer[..length - first]].concat()
}

/// Reads whole records: of a sample its address and then its thread (`PERF_SAMPLE_IP`, `PERF_SAMPLE_TID`).
pub fn parse(mut bytes: &[u8]) -> Taken {
    let mut taken = Taken::default();
    while let Some(header) = bytes.get(..HEADER_BYTES) {
        let kind = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]);
        let size = usize::from(u16::from_ne_bytes([header[6], header[7]]));
        let Some(body) = bytes.get(HEADER_BYTES..size) else {
            break;
        };
        match kind {
            SAMPLE => taken.addresses.extend(number(body, 0)),
            LOST => taken.lost += number(body, 8).unwrap_or(0),
            _ => {}
        }
        bytes = &bytes[size..];
    }
    taken
}

fn number(body: &[u8], at: usize) -> Option<u64> {
    body.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, body: &[u64]) -> Vec<u8> {
        let size = (HEADER_BYTES + 8 * body.len()) as u16;
        let mut bytes = kind.to_ne_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(size.to_ne_bytes());
        body.iter().for_each(|each| bytes.extend(each.to_ne_bytes()));
        bytes
    }

    #[test]
    fn samples_and_losses_are_read_and_other_records_are_skipped() {
        let bytes = [
            record(SAMPLE, &[0x40, 7]),
            record(5, &[1, 2]),
            record(LOST, &[1, 3]),
            record(SAMPLE, &[0x50, 7]),
        ];
        assert_eq!(parse(&bytes.concat()), Taken { addresses: vec![0x40, 0x50], lost: 3 });
    }

    #[test]
    fn what_is_cut_short_ends_it() {
        let bytes = record(SAMPLE, &[0x40, 7]);
        for length in 0..bytes.len() {
            assert_eq!(parse(&bytes[..length]), Taken::default());
        }
        assert_eq!(parse(&[0; 64]), Taken::default(), "a record of no size does not hold it up");
    }

    #[test]
    fn a_buffer_begins_again_at_its_end() {
        let buffer: Vec<u8> = (0..16).collect();
        assert_eq!(unrolled(&buffer, 16, 20), [0, 1, 2, 3]);
        assert_eq!(unrolled(&buffer, 30, 34), [14, 15, 0, 1]);
        assert_eq!(unrolled(&buffer, 0, 16), buffer);
        assert!(unrolled(&buffer, 20, 16).is_empty(), "it never goes back");
        assert!(unrolled(&buffer, 0, 17).is_empty(), "nor is it longer than itself");
    }
}
