"""The list that the workload todos prescribes; data only."""

TODOS = [
    {"id": 1, "title": "Renew the TLS certificate", "done": False, "priority": 1, "due": "2027-01-08"},
    {"id": 2, "title": "Rotate the backup keys", "done": True, "priority": 2, "due": "2027-01-11"},
    {"id": 3, "title": "Answer the audit questions", "done": False, "priority": 2, "due": "2027-01-15"},
    {"id": 4, "title": "Order two spare disks", "done": True, "priority": 3, "due": "2027-01-19"},
    {"id": 5, "title": "Review the on-call rota", "done": False, "priority": 3, "due": "2027-01-22"},
    {"id": 6, "title": "Plan the database upgrade", "done": False, "priority": 1, "due": "2027-01-29"},
]
