"""The pure core: machines, records, declarations and arithmetic. No I/O, no clock, no async."""
