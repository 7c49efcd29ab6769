"""What people see: tables in the terminal."""
