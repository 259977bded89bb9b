//! One answer: it is read as its bytes come in, and compared with what was expected. Pure: it is given bytes and has
//! no socket.

use sha2::{Digest, Sha256};

use super::chunked::{After, Chunked};
use super::head::{Framing, Head, HeadMemo, Malformed};
use super::lines::PartialHead;
use crate::outcome::{Outcome, Reason};

/// The answer that counts as `ok`.
#[derive(Debug)]
pub struct Expectation {
    /// `None` = any status from 200 to 299.
    pub status: Option<u16>,
    pub body_bytes: Option<u64>,
    pub sha256: [u8; 32],
    /// One answer in this many is hashed in full; 0 = none.
    pub hash_one_in: u32,
    /// The request was a HEAD. Its answer has no body, whatever its headers say.
    pub without_body: bool,
}

impl Expectation {
    #[inline]
    fn accepts(&self, status: u16) -> bool {
        self.status.map_or((200..300).contains(&status), |expected| expected == status)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The answer goes on.
    More,
    /// The answer is whole. `excess` bytes came after it, which no request asked for.
    Whole { excess: usize },
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Head,
    Sized {
        left: u64,
    },
    /// In the content of a chunk.
    Chunk {
        left: u64,
    },
    /// Before, between or after the contents of chunks.
    ChunkFraming(Chunked),
    UntilClose,
    Whole,
}

#[derive(Debug, Default)]
pub struct Answer {
    stage: Stage,
    keep_alive: bool,
    /// Whether an interim answer (1xx) has come.
    interim: bool,
    status: u16,
    body_bytes: u64,
    more: Option<Box<More>>,
}

/// State that only some answers need.
#[derive(Debug, Default)]
struct More {
    /// A head that comes in pieces.
    partial_head: PartialHead,
    digest: Option<Sha256>,
    kept: Option<Kept>,
}

/// The beginning of an answer that is kept as an example.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    pub head: Vec<u8>,
    pub body: Vec<u8>,
}

impl Answer {
    /// Prepares for the next answer. `hash` says whether it is in the sample that is hashed.
    #[inline]
    pub fn begin(&mut self, hash: bool) {
        self.stage = Stage::Head;
        self.interim = false;
        self.status = 0;
        self.body_bytes = 0;
        if hash || self.more.is_some() {
            self.begin_more(hash);
        }
    }

    #[cold]
    fn begin_more(&mut self, hash: bool) {
        self.more = hash.then(|| Box::new(More { digest: Some(Sha256::default()), ..More::default() }));
    }

    pub fn is_hashed(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.digest.is_some())
    }

    /// Returns its status, or `None` if no whole head has come.
    pub fn status(&self) -> Option<u16> {
        (self.stage != Stage::Head && self.status != 0).then_some(self.status)
    }

    /// Returns how many bytes of content follow, at least, that are not looked at.
    #[inline]
    pub fn ignored_bytes(&self) -> u64 {
        let left = match self.stage {
            Stage::Sized { left } | Stage::Chunk { left } => left,
            Stage::UntilClose => u64::MAX,
            _ => 0,
        };
        if self.more.is_none() { left } else { 0 }
    }

    /// Takes `bytes` of content that were not looked at, at most `ignored_bytes`.
    pub fn skip(&mut self, bytes: u64) -> Progress {
        self.body_bytes += bytes;
        match &mut self.stage {
            Stage::Sized { left } if *left == bytes => self.stage = Stage::Whole,
            Stage::Chunk { left } if *left == bytes => self.stage = CHUNK_END,
            Stage::Sized { left } | Stage::Chunk { left } => *left -= bytes,
            _ => {}
        }
        if self.stage == Stage::Whole { Progress::Whole { excess: 0 } } else { Progress::More }
    }

    /// Takes what was kept of it. If its head was not whole, this is what came.
    pub fn take_kept(&mut self) -> Kept {
        let Some(more) = &mut self.more else {
            return Kept::default();
        };
        let mut kept = more.kept.take().unwrap_or_default();
        if kept.head.is_empty() {
            kept.head.extend_from_slice(more.partial_head.bytes());
            kept.head.truncate(KEPT_HEAD_BYTES);
        }
        kept
    }

    /// Keeps the first of the bytes that came in place of an answer.
    pub fn keep_as_it_came(&mut self, bytes: &[u8]) {
        let more = self.more.get_or_insert_default();
        let before = more.partial_head.bytes();
        let before = &before[..before.len().min(KEPT_HEAD_BYTES)];
        let head = [before, &bytes[..bytes.len().min(KEPT_HEAD_BYTES - before.len())]].concat();
        more.kept.get_or_insert_with(|| Kept { head, body: Vec::new() });
    }

    /// Returns the head that was kept of it, or what came in place of one.
    pub fn kept_head(&self) -> &[u8] {
        let kept = self.more.as_ref().and_then(|more| more.kept.as_ref());
        kept.map_or(&[], |kept| &kept.head)
    }

    /// Returns how far it has come, if it is not whole.
    pub fn place(&self) -> Reason {
        match self.stage {
            Stage::Head if self.is_untouched() => Reason::BeforeAnswer,
            Stage::Head => Reason::InHead,
            Stage::UntilClose => Reason::UntilClose,
            _ => Reason::InBody,
        }
    }

    /// Returns why bytes that follow it are a fault.
    pub fn why_excess(&self, expect: &Expectation) -> Reason {
        if matches!(self.status, 204 | 304) || expect.without_body {
            return Reason::NoBodyAllowed;
        }
        Reason::Excess
    }

    /// Returns whether its beginning is kept.
    pub fn is_kept(&self) -> bool {
        self.more.as_ref().is_some_and(|more| more.kept.is_some())
    }

    /// Returns whether none of it has come yet.
    pub fn is_untouched(&self) -> bool {
        self.stage == Stage::Head
            && !self.interim
            && self.more.as_ref().is_none_or(|more| more.partial_head.bytes().is_empty())
    }

    /// Returns whether the connection may serve another request.
    pub fn keeps_alive(&self) -> bool {
        self.keep_alive
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// Why it is not an HTTP/1.x answer.
    #[inline]
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        expect: &Expectation,
        memo: &mut HeadMemo,
    ) -> Result<Progress, Malformed> {
        while self.stage == Stage::Head {
            let Some((head, consumed)) = self.take_head(bytes, memo)? else {
                return Ok(Progress::More);
            };
            bytes = &bytes[consumed..];
            self.enter_body(&head, expect)?;
            if self.stage != Stage::Head && memo.keep.wants(head.status, expect.accepts(head.status)) {
                self.keep(memo.last());
            }
        }
        while !bytes.is_empty() && self.stage != Stage::Whole {
            bytes = &bytes[self.take_body(bytes)?..];
        }
        if self.stage == Stage::Whole {
            return Ok(Progress::Whole { excess: bytes.len() });
        }
        Ok(Progress::More)
    }

    /// Ends the stream. Returns whether this is a proper end of the answer.
    pub fn end_of_stream(&mut self) -> bool {
        if self.stage == Stage::UntilClose {
            self.stage = Stage::Whole;
        }
        self.stage == Stage::Whole
    }

    /// Compares the whole answer with the expected one.
    #[inline]
    pub fn outcome(&mut self, expect: &Expectation) -> Outcome {
        if !expect.accepts(self.status) {
            return Outcome::WrongStatus;
        }
        if expect.body_bytes.is_some_and(|bytes| bytes != self.body_bytes) {
            return Outcome::WrongBody;
        }
        let digest = self.more.as_mut().and_then(|more| more.digest.as_mut());
        let hashed = digest.map(Digest::finalize_reset);
        if hashed.is_some_and(|hashed| hashed.as_slice() != expect.sha256) {
            return Outcome::WrongBody;
        }
        Outcome::Ok
    }

    /// Returns the head and how many of `bytes` belong to it, or `None` if the head goes on.
    #[inline]
    fn take_head(&mut self, bytes: &[u8], memo: &mut HeadMemo) -> Result<Option<(Head, usize)>, Malformed> {
        if self.more.as_ref().is_none_or(|more| more.partial_head.bytes().is_empty())
            && let Some(head) = memo.parse(bytes)?
        {
            return Ok(Some((head, head.bytes)));
        }
        self.take_partial_head(bytes, memo)
    }

    #[cold]
    fn take_partial_head(
        &mut self,
        bytes: &[u8],
        memo: &mut HeadMemo,
    ) -> Result<Option<(Head, usize)>, Malformed> {
        let partial = &mut self.more.get_or_insert_default().partial_head;
        let Some(taken) = partial.take(bytes)? else {
            return Ok(None);
        };
        let head = memo.parse(partial.bytes())?.ok_or(Malformed::FieldLine)?; // Never None: both find the same end.
        *partial = PartialHead::default();
        if !self.is_hashed() {
            self.more = None; // Nothing else has been kept yet.
        }
        Ok(Some((head, taken)))
    }

    #[inline]
    fn enter_body(&mut self, head: &Head, expect: &Expectation) -> Result<(), Malformed> {
        self.status = head.status;
        self.keep_alive = head.keep_alive && head.framing != Framing::UntilClose;
        self.stage = match head.status {
            101 => return Err(Malformed::SwitchedProtocols), // The engine never asks to switch protocols.
            100..=199 => {
                self.interim = true; // The final answer follows.
                Stage::Head
            }
            204 | 304 => self.whole_without_body(head),
            _ if expect.without_body => self.whole_without_body(head),
            _ => match head.framing {
                Framing::Sized(0) => Stage::Whole,
                Framing::Sized(left) => Stage::Sized { left },
                Framing::Chunked => Stage::ChunkFraming(Chunked::BEGIN),
                Framing::UntilClose => Stage::UntilClose,
            },
        };
        Ok(())
    }

    fn whole_without_body(&mut self, head: &Head) -> Stage {
        self.keep_alive = head.keep_alive;
        Stage::Whole
    }

    /// Takes those of `bytes` that belong to the present stage, and returns how many they are.
    #[inline]
    fn take_body(&mut self, bytes: &[u8]) -> Result<usize, Malformed> {
        match self.stage {
            Stage::Sized { left } => {
                let taken = self.take_content(bytes, left);
                let left = left - taken as u64;
                self.stage = if left == 0 { Stage::Whole } else { Stage::Sized { left } };
                Ok(taken)
            }
            Stage::UntilClose => Ok(self.take_content(bytes, u64::MAX)),
            Stage::Chunk { left } => {
                let taken = self.take_content(bytes, left);
                let left = left - taken as u64;
                self.stage = if left == 0 { CHUNK_END } else { Stage::Chunk { left } };
                Ok(taken)
            }
            Stage::ChunkFraming(position) => {
                self.stage = match position.after(bytes[0])? {
                    After::Framing(next) => Stage::ChunkFraming(next),
                    After::Content(left) => Stage::Chunk { left },
                    After::Nothing => Stage::Whole,
                };
                Ok(1)
            }
            Stage::Head | Stage::Whole => Ok(0),
        }
    }

    #[inline]
    fn take_content(&mut self, bytes: &[u8], most: u64) -> usize {
        let taken = usize::try_from(most).map_or(bytes.len(), |most| most.min(bytes.len()));
        self.body_bytes += taken as u64;
        if let Some(more) = &mut self.more {
            more.take_content(&bytes[..taken]);
        }
        taken
    }

    #[cold]
    fn keep(&mut self, head: &[u8]) {
        let head = head[..head.len().min(KEPT_HEAD_BYTES)].to_vec();
        self.more.get_or_insert_default().kept = Some(Kept { head, body: Vec::new() });
    }
}

impl More {
    fn take_content(&mut self, bytes: &[u8]) {
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        if let Some(kept) = &mut self.kept {
            let room = KEPT_BODY_BYTES - kept.body.len();
            kept.body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    }
}

/// The most bytes that are kept of an answer's head.
pub const KEPT_HEAD_BYTES: usize = 4096;
const KEPT_BODY_BYTES: usize = 1024;
const CHUNK_END: Stage = Stage::ChunkFraming(Chunked::AFTER_CONTENT);

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
