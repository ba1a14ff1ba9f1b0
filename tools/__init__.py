"""Commands for developers: the coverage page, conformance with torch's databases."""
