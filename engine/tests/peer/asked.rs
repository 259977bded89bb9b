//! What a peer is asked: a request with its body, read without a byte of the next.

use std::io::Read;

/// A request as it came.
#[derive(Debug)]
pub struct Asked {
    pub head: String,
    pub body: Vec<u8>,
}

impl Asked {
    /// The next request on `socket`; `None` when the engine has closed.
    pub fn read(socket: &mut impl Read) -> Option<Self> {
        let head = read_head(socket)?;
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        socket.read_exact(&mut body).ok()?;
        Some(Self { head, body })
    }

    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    pub fn bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// The head of the next request, to its empty line and not beyond.
pub fn read_head(socket: &mut impl Read) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap())
}
