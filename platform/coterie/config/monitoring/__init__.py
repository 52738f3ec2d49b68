"""What monitoring reads of a process: metrics, liveness, and log lines that programs parse."""
