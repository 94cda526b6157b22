"""What people do with spotting: whole jobs, from files to answers."""
