"""Substitution scores and gap costs, and proofs of precision."""
