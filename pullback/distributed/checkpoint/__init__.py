"""`torch.distributed.checkpoint` for one process: state dicts by name, in `state_dict`. Files are written by `torch.save`."""
