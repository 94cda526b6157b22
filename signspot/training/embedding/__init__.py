"""An embedding MLP learns on a frozen trunk by the losses of the paper."""
