"""A run over HTTP: decide, label, look. A thin face of `ffml.Run`; needs the extra ``serve``."""
