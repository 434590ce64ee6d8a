-- Keys of any length fit the index here.
SELECT 1;
