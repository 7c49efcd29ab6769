"""Files in and out: tables, folders, expert sheets, results."""
