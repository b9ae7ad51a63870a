"""The learning half: everything that needs torch. Commands that do not train never import it."""
