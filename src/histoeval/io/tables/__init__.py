"""Tables of any format as rows: CSV, TSV, JSON, JSON lines, Parquet."""
