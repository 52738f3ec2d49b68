"""What child processes do: a light module for each job, with its arguments, its result and where its code is."""
