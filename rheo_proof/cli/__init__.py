"""The command line, `rheo-prove`."""
