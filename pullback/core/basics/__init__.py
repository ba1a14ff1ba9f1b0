"""The lowest layer of the package: dtypes, devices, sizes, storage, constants, warnings."""
