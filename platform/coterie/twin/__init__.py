"""The digital twin: what a fleet did before says what rounds will take, and what another plan would have done."""
