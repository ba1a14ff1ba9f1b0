"""What everything else stands on: dtypes, devices, sizes, storage, thresholds, messages."""
