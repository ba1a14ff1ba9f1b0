"""Where programs written for torch and NumPy meet the package: names, modes, stand-ins, the command line."""
