"""What others recorded or described (HAR, OpenAPI, targets, access logs) → a request file. Sends nothing."""
