"""Run directories: checkpoints that never lose a round, and the files a person keeps."""
