"""Networks: tensors in, tensors out, and their weights."""
