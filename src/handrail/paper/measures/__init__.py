"""Evidence for the paper's claims, computed from tables; one file a kind of claim."""
