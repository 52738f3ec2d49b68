"""Programs that benchmarks start and watch: none may import more than what it stands for."""
