"""`torch.fx.passes`: of torch's passes, the one that writes down shapes."""
