"""What is wrong and what to do about it: faults as plain sentences, each with the action that repairs it."""
