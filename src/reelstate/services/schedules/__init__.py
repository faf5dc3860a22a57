"""schedules: submit jobs at times that cron expressions or intervals give."""
