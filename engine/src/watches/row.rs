//! One row of samples: what is asked for, and what was read. It is read beside the load, by a thread that may have to wait
//! for a core all the time.

use std::sync::Arc;

use crate::clock::now_ns;
use crate::jobs::Jobs;
use crate::probe::sockets::{self, SocketFiles};
use crate::probe::threads::{self, ThreadFiles};
use crate::probe::tree_read::{DEAR, Known, TreeRead};
use crate::probe::{Pace, own_cpu_ns};

/// What is to be read.
pub struct Asked {
    pub due_ns: u64,
    pub trees: Vec<AskedTree>,
    pub threads: Arc<ThreadFiles>,
    /// Those of each network namespace; `None`: sockets are not due.
    pub sockets: Option<Vec<Arc<SocketFiles>>>,
    pub pace: Pace,
}

/// A process tree of which a row is to be read.
pub struct AskedTree {
    pub known: Vec<Known>,
    /// The thread that reads its memory; without it memory is not read.
    pub memory: Option<Jobs>,
    /// When each of `DEAR` was read last in a row; 0 = never.
    pub read_ns: [u64; DEAR.len()],
}

/// What was read.
pub struct Row {
    pub due_ns: u64,
    pub at_ns: u64,
    /// In the order in which they were asked for, each with `read_ns` as of now.
    pub trees: Vec<(TreeRead, [u64; DEAR.len()])>,
    pub threads: Vec<threads::Reading>,
    pub sockets: Option<Vec<sockets::Reading>>,
    pub pace: Pace,
}

impl Asked {
    /// Reads the row, and as many of the expensive parts as the pace allows.
    pub fn read(mut self) -> Row {
        let (at_ns, began_cpu_ns) = (now_ns(), own_cpu_ns());
        let mut read: Vec<TreeRead> = self.trees.iter().map(|tree| TreeRead::row(&tree.known)).collect();
        let threads = self.threads.read();
        let sockets = self.sockets.as_ref().map(|all| all.iter().map(|files| files.read()).collect());
        let row_cost_ns = own_cpu_ns() - began_cpu_ns;
        self.read_more(&mut read);
        // Account for the row only now: otherwise the pace would allow no other readings while rows are expensive.
        self.pace.spent_on_row(at_ns, row_cost_ns);
        let trees = read.into_iter().zip(self.trees.iter().map(|tree| tree.read_ns)).collect();
        Row { due_ns: self.due_ns, at_ns, trees, threads, sockets, pace: self.pace }
    }

    /// Reads the expensive parts of each tree, that which was read longest ago first.
    fn read_more(&mut self, read: &mut [TreeRead]) {
        let each = self.trees.iter().enumerate();
        let mut turns: Vec<(u64, usize, usize)> = each
            .flat_map(|(tree, asked)| {
                asked.read_ns.into_iter().zip(0..).map(move |(at, dear)| (at, tree, dear))
            })
            .collect();
        turns.sort_unstable();
        for (_, tree, dear) in turns {
            let read_ns = now_ns();
            if !self.pace.allows_more(read_ns) {
                return;
            }
            let (began_cpu_ns, elsewhere_ns) = (own_cpu_ns(), read[tree].elsewhere_cpu_ns);
            read[tree].read(DEAR[dear], self.trees[tree].memory.as_ref());
            self.trees[tree].read_ns[dear] = read_ns;
            let cost_ns = own_cpu_ns() - began_cpu_ns + read[tree].elsewhere_cpu_ns - elsewhere_ns;
            self.pace.spent(read_ns, cost_ns);
        }
    }
}
