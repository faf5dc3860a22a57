"""The pipeline `transcode` with leases that are short enough for a test to wait for."""

import os

from reelstate.app import built_in_pipelines
from reelstate.config import from_environment
from tests.media.deployment import customize

LEASE = 4.0

every = [customize(pipeline, lease=LEASE) for pipeline in built_in_pipelines(from_environment(os.environ))]
