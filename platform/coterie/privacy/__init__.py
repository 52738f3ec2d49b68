"""The privacy cost of releases under noise: budgets, the ledger, and when to stop."""
