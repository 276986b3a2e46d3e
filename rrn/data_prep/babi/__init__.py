"""The bAbI data set: `prepare` has its command and the description of its file."""
