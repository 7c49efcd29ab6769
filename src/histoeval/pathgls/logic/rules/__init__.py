"""The rules of logic, one kind of contradiction a module."""
