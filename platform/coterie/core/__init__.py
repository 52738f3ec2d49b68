"""What every app stands on: errors, and events and jobs sent on commit."""
