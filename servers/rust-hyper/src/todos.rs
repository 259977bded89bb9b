//! The list that the workload todos prescribes; data only.

use serde::Serialize;

#[derive(Serialize)]
pub struct Todo {
    id: u32,
    title: &'static str,
    done: bool,
    priority: u32,
    due: &'static str,
}

pub static TODOS: [Todo; 6] = [
    Todo {
        id: 1,
        title: "Renew the TLS certificate",
        done: false,
        priority: 1,
        due: "2027-01-08",
    },
    Todo {
        id: 2,
        title: "Rotate the backup keys",
        done: true,
        priority: 2,
        due: "2027-01-11",
    },
    Todo {
        id: 3,
        title: "Answer the audit questions",
        done: false,
        priority: 2,
        due: "2027-01-15",
    },
    Todo {
        id: 4,
        title: "Order two spare disks",
        done: true,
        priority: 3,
        due: "2027-01-19",
    },
    Todo {
        id: 5,
        title: "Review the on-call rota",
        done: false,
        priority: 3,
        due: "2027-01-22",
    },
    Todo {
        id: 6,
        title: "Plan the database upgrade",
        done: false,
        priority: 1,
        due: "2027-01-29",
    },
];
