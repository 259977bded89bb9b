"""One file for each cause: in which ways it shows, what each way expects to read, and what is said of it."""
