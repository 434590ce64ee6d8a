-- Nothing to be done here: a file has no partitions.
SELECT 1;
