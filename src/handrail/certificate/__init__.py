"""Whether the promise is kept: the share of independent runs that broke it, with its interval."""
