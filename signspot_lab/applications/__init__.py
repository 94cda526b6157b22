"""What the applications are worth: measured on the signing world, and on real isolated signs where they suffice."""
