"""The package's promises of speed, each measured in one run as a count or as a ratio.

python -m benchmarks            # everything, some minutes
python -m benchmarks --smoke    # small sizes, half a minute
python -m benchmarks requests throughput    # these only
"""
