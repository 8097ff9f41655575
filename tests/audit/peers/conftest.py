"""Nothing in this folder is collected: its modules import packages that need not be there."""

collect_ignore_glob = ["*.py"]
