"""Where rows come from: files, folders, frames and databases."""
