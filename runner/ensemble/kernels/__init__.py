"""Machine code of the ensemble techniques' inner loops, compiled as the families' is."""
