"""From metres to landmarks, with the faults of an estimator."""
