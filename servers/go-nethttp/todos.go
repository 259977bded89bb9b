package main

type todo struct {
	ID       int    `json:"id"`
	Title    string `json:"title"`
	Done     bool   `json:"done"`
	Priority int    `json:"priority"`
	Due      string `json:"due"`
}

// todos is the list that the workload todos prescribes.
var todos = []todo{
	{ID: 1, Title: "Renew the TLS certificate", Done: false, Priority: 1, Due: "2027-01-08"},
	{ID: 2, Title: "Rotate the backup keys", Done: true, Priority: 2, Due: "2027-01-11"},
	{ID: 3, Title: "Answer the audit questions", Done: false, Priority: 2, Due: "2027-01-15"},
	{ID: 4, Title: "Order two spare disks", Done: true, Priority: 3, Due: "2027-01-19"},
	{ID: 5, Title: "Review the on-call rota", Done: false, Priority: 3, Due: "2027-01-22"},
	{ID: 6, Title: "Plan the database upgrade", Done: false, Priority: 1, Due: "2027-01-29"},
}
