//! All processes of the machine at both ends of the measured phase. They are read once for all that asks for them: which
//! of them serve the server's dependencies is known only afterwards, and so is who else used the machine.

use super::all_processes::AllProcesses;
use super::own_cpu_ns;
use super::rests::Rests;

#[derive(Default)]
pub struct Ends {
    begun: Option<AllProcesses>,
    ended: Option<AllProcesses>,
    /// CPU time of both readings.
    pub cost_ns: u64,
}

/// A reading, and its CPU time.
pub struct End {
    all: AllProcesses,
    cost_ns: u64,
}

impl End {
    pub fn read(rests: &mut Rests) -> Self {
        let began_cpu_ns = own_cpu_ns();
        let all = AllProcesses::read(rests);
        Self { all, cost_ns: own_cpu_ns() - began_cpu_ns }
    }
}

impl Ends {
    #[cfg(test)]
    pub fn of(begun: AllProcesses, ended: AllProcesses) -> Self {
        Self { begun: Some(begun), ended: Some(ended), cost_ns: 0 }
    }

    pub fn begin(&mut self, end: End) {
        self.cost_ns += end.cost_ns;
        self.begun = Some(end.all);
    }

    pub fn close(&mut self, end: End) {
        self.cost_ns += end.cost_ns;
        self.ended = Some(end.all);
    }

    /// Returns both readings, if both were taken.
    pub fn both(&self) -> Option<(&AllProcesses, &AllProcesses)> {
        self.begun.as_ref().zip(self.ended.as_ref())
    }

    /// Returns how long it is from one reading to the other.
    pub fn span_ns(&self) -> Option<u64> {
        self.both().map(|(begun, ended)| ended.at_ns.saturating_sub(begun.at_ns))
    }
}
