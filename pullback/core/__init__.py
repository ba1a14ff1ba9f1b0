"""The core: tensors, the tape that records operations, and the engine that runs them backwards."""
