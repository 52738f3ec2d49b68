"""What operators' monitoring reads of a process: metrics, signs of life, and log lines that programs parse."""
