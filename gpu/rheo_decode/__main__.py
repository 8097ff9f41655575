"""`python -m rheo_decode`."""

from rheo_decode.command import main

main()
