"""What every app depends on: errors, and events and jobs sent on commit."""
