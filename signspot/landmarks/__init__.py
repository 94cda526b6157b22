"""From pixels to body, hand and face points, and to what an encoder sees of them."""
