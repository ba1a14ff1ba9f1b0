"""Rules run on other things than arrays: batches, tangents, names, arrays of other libraries."""
