"""Settings, presets and configuration: from names and numbers to a run."""
