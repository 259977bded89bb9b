//! A request that a peer reads, with its body and without a byte of the next request.

use std::io::Read;

/// A request, as it came.
#[derive(Debug)]
pub struct Asked {
    pub head: String,
    pub body: Vec<u8>,
}

impl Asked {
    /// Reads the next request on `socket`. Returns `None` when the engine has closed. The engine sends no other
    /// request before it has the answer, so everything that is read belongs to this one.
    pub fn read(socket: &mut impl Read) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut piece = [0; 1024];
        let head_bytes = loop {
            match socket.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(read) => bytes.extend_from_slice(&piece[..read]),
            }
            if let Some(at) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
                break at + 4;
            }
        };
        let mut body = bytes.split_off(head_bytes);
        let head = String::from_utf8(bytes).unwrap();
        let come = body.len();
        body.resize(length(&head), 0);
        socket.read_exact(&mut body[come..]).ok()?;
        Some(Self { head, body })
    }

    pub fn method(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    pub fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    pub fn bytes(&self) -> usize {
        self.head.len() + self.body.len()
    }
}

/// Reads the head of the next request, and nothing of its body.
pub fn read_head(socket: &mut impl Read) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8(head).unwrap())
}

/// Returns the length of the body that follows this head.
pub fn length(head: &str) -> usize {
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    length.map_or(0, |length| length.parse().unwrap())
}
