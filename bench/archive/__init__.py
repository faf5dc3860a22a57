"""What old jobs cost: finished jobs in the tables, archived ones beside them, and the move from one to the other."""
