"""From settings to a run: recipes, presets, the configuration, and what it builds."""
