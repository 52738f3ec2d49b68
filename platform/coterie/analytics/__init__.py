"""Questions to a fleet: counted on devices, summed under masks, charged to budgets, and answered with their error."""
