-- Nothing to be watched here: triggers cannot be switched off, and there are no partitions.
SELECT 1;
