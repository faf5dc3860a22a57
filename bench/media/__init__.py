"""A ladder made by two workers beside the best single ffmpeg command that makes the same, run by run.

One clip, one ffmpeg, the same settings of every encoder. What is compared is the time from submit to completed with
the time of the command; what is counted beside is the CPU that is not ffmpeg's, and how soon a viewer can begin.
"""
