"""Tables that torch's build writes for its tests."""
