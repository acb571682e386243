"""HTTP: what comes in is checked and handed to the desk, what it says goes out as JSON."""
