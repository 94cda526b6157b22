"""The workbench: see, search, sign and verify in the browser, with the very functions that the other verbs run."""
