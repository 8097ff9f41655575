"""`python -m rheo_proof` is `rheo-prove`."""

from rheo_proof.cli.main import main

if __name__ == "__main__":
    main()
