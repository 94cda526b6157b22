"""An RGB trunk learns to tell words apart."""
