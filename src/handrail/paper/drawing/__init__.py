"""How results look: colours, sheets, panels. Drawing reads tables and never runs anything."""
