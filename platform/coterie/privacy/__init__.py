"""What releases under noise cost devices: budgets, the ledger, and when to stop."""
