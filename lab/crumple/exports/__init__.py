"""Results for other programs: tables as CSV and Parquet, percentile files, and what history tools read."""
