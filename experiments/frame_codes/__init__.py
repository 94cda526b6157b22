"""The training of frame codes: by contrast between performances of one sign by different signers."""
