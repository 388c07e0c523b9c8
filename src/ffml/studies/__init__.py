"""Many runs: comparing, tuning, reproducing, analysing."""
