//! Decisions, drawn one after the other from bytes. When the bytes are used up, each decision is its first choice.

pub struct Draws {
    bytes: Vec<u8>,
    next: usize,
}

impl Draws {
    pub fn new(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), next: 0 }
    }

    fn byte(&mut self) -> u8 {
        let byte = self.bytes.get(self.next).copied().unwrap_or_default();
        self.next += 1;
        byte
    }

    /// Returns a number below `count`, which is at most 256.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// Returns a place in a text of `length` bytes, its end included.
    pub fn place(&mut self, length: usize) -> usize {
        (usize::from(self.byte()) * (length + 1)) / 256
    }

    pub fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }

    /// Returns true once in `every` times, and never once the bytes are used up.
    pub fn rarely(&mut self, every: usize) -> bool {
        self.below(every) == every - 1
    }

    /// Returns some of the bytes themselves.
    pub fn raw(&mut self) -> Vec<u8> {
        let length = self.below(64);
        (0..length).map(|_| self.byte()).collect()
    }
}
