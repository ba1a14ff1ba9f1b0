"""The commands of `pullback`: one file each, with a `main(arguments)` that returns the exit status."""
