"""The catalogue of named algorithms; Policy: decide, learn, save, load."""
