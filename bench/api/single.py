"""The pipeline of the jobs that are submitted: one task that no worker runs."""

import reelstate as rs

single = rs.Pipeline("single")


@single.stage()
async def main(_: rs.Run) -> None: ...
