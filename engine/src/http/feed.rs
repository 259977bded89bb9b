//! The source of a thread's requests. Requests that vary are rendered ahead, on a thread of their own, in batches
//! that go back and forth. So the hot loop formats, allocates and locks nothing.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::http::deck::Deck;
use crate::http::request::Request;
use crate::http::values::Values;
use crate::part::Part;
use crate::random;

/// A batch ends with the request that reaches either limit.
const BATCH_REQUESTS: usize = 256;
const BATCH_BYTES: usize = 64 * 1024;
/// One batch is in use and the others are ready. They last while the renderer is away for longer than a scheduler
/// lets another thread run (20 ms at 200,000 requests per second). They take a megabyte for each thread.
const BATCHES_PER_FEED: usize = 16;
/// Keeps the random numbers drawn here apart from those of other parts of the engine.
const PURPOSE: u64 = 0xfeed_0000;

/// One thread's source of requests.
pub struct Feed(Source);

enum Source {
    Fixed(Deck),
    Rendered(Rendered),
}

impl Feed {
    /// A feed in which every request has the bytes of its kind.
    fn fixed(deck: Deck) -> Self {
        Self(Source::Fixed(deck))
    }

    /// A feed of requests in batches, which come out of the `inbox` and go back as `spent`.
    fn rendered(batch: Box<Batch>, inbox: Receiver<Box<Batch>>, spent: SyncSender<Box<Batch>>) -> Self {
        Self(Source::Rendered(Rendered { batch, next: 0, has_waited: false, inbox, spent }))
    }

    /// Takes the next request and returns its kind. It waits only if the renderer is behind by all batches.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "it never ends")]
    pub fn next(&mut self) -> u16 {
        match &mut self.0 {
            Source::Fixed(deck) => deck.deal(),
            Source::Rendered(rendered) => rendered.next(),
        }
    }

    /// Returns whether the thread had to wait for the request that it took last.
    #[inline]
    pub fn has_waited(&self) -> bool {
        matches!(&self.0, Source::Rendered(rendered) if rendered.has_waited)
    }

    /// Returns the bytes of the request that was taken last, or `None` if they are those of its kind.
    #[inline]
    pub fn bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Source::Fixed(_) => None,
            Source::Rendered(rendered) => rendered.bytes(),
        }
    }
}

struct Rendered {
    batch: Box<Batch>,
    next: usize,
    has_waited: bool,
    inbox: Receiver<Box<Batch>>,
    spent: SyncSender<Box<Batch>>,
}

impl Rendered {
    #[inline]
    fn next(&mut self) -> u16 {
        self.has_waited = false;
        if self.next == self.batch.requests.len() {
            self.turn();
        }
        let kind = self.batch.requests[self.next].kind;
        self.next += 1;
        kind
    }

    #[cold]
    fn turn(&mut self) {
        let full = self.inbox.try_recv().unwrap_or_else(|_| {
            self.has_waited = true;
            self.inbox.recv().expect("the renderer outlives its feeds")
        });
        let spent = std::mem::replace(&mut self.batch, full);
        self.next = 0;
        let _ = self.spent.send(spent); // The channel has room for all batches.
    }

    #[inline]
    fn bytes(&self) -> Option<&[u8]> {
        let last = self.next.checked_sub(1)?;
        let begins = if last == 0 { 0 } else { self.batch.requests[last - 1].end };
        let bytes = &self.batch.bytes[begins..self.batch.requests[last].end];
        (!bytes.is_empty()).then_some(bytes)
    }
}

/// Requests in their order. Of those that do not vary it has only the kind.
struct Batch {
    /// The index of its feed.
    feed: usize,
    requests: Vec<Entry>,
    bytes: Vec<u8>,
}

struct Entry {
    kind: u16,
    /// Where its bytes end.
    end: usize,
}

/// Renders the requests of all threads, until their feeds are dropped.
pub struct Renderer<'a> {
    requests: &'a [Request],
    part: Part,
    /// The number of requests of each kind that were rendered.
    turns: Vec<u64>,
    /// The last sequence number that was given out, over all threads.
    last_seq: u64,
    strands: Vec<Strand>,
    spent: Receiver<Box<Batch>>,
}

/// The state of one feed.
struct Strand {
    deck: Deck,
    random: Xoshiro256PlusPlus,
    outbox: SyncSender<Box<Batch>>,
}

/// Returns a feed for each of `threads` threads of this part, and the renderer for them if any request varies.
pub fn feeds(
    requests: &[Request],
    threads: usize,
    part: Part,
    seed: u64,
) -> (Vec<Feed>, Option<Renderer<'_>>) {
    let weights: Vec<u32> = requests.iter().map(|request| request.weight).collect();
    let decks = (0..threads as u64).map(|thread| {
        let mut random = random::seeded(seed, PURPOSE + thread);
        (Deck::new(&weights, &mut random), random)
    });
    if requests.iter().all(|request| request.message.fixed().is_some()) {
        return (decks.map(|(deck, _)| Feed::fixed(deck)).collect(), None);
    }
    let (give_back, spent) = sync_channel(threads * BATCHES_PER_FEED);
    let (strands, inboxes): (Vec<_>, Vec<_>) = decks
        .map(|(deck, random)| {
            let (outbox, inbox) = sync_channel(BATCHES_PER_FEED);
            (Strand { deck, random, outbox }, inbox)
        })
        .unzip();
    let mut renderer =
        Renderer { requests, part, turns: vec![0; requests.len()], last_seq: 0, strands, spent };
    let feed = |(feed, inbox)| Feed::rendered(renderer.first(feed), inbox, give_back.clone());
    let feeds = inboxes.into_iter().enumerate().map(feed).collect();
    for _ in 1..BATCHES_PER_FEED {
        (0..threads).for_each(|feed| {
            let batch = renderer.first(feed);
            renderer.send(batch);
        });
    }
    (feeds, Some(renderer))
}

impl Renderer<'_> {
    /// Refills every batch that comes back.
    pub fn run(mut self) {
        while let Ok(mut batch) = self.spent.recv() {
            self.fill(&mut batch);
            self.send(batch);
        }
    }

    fn first(&mut self, feed: usize) -> Box<Batch> {
        let mut batch =
            Box::new(Batch { feed, requests: Vec::with_capacity(BATCH_REQUESTS), bytes: Vec::new() });
        self.fill(&mut batch);
        batch
    }

    fn send(&self, batch: Box<Batch>) {
        let _ = self.strands[batch.feed].outbox.send(batch); // The thread may have ended.
    }

    fn fill(&mut self, batch: &mut Batch) {
        let strand = &mut self.strands[batch.feed];
        batch.requests.clear();
        batch.bytes.clear();
        while batch.requests.len() < BATCH_REQUESTS && batch.bytes.len() < BATCH_BYTES {
            let kind = strand.deck.deal();
            let message = &self.requests[usize::from(kind)].message;
            if message.fixed().is_none() {
                let turn = &mut self.turns[usize::from(kind)];
                message.render(
                    &mut Values::new(self.part, *turn, &mut self.last_seq, &mut strand.random),
                    &mut batch.bytes,
                );
                *turn += 1;
            }
            batch.requests.push(Entry { kind, end: batch.bytes.len() });
        }
    }
}

#[cfg(test)]
#[path = "feed_tests.rs"]
mod tests;
