"""The video that is encoded: grain, motion all over the picture, sound, and a key frame every two seconds."""

import subprocess
from pathlib import Path
from typing import Final

RATE: Final = "30000/1001"
PICTURE: Final = f"testsrc2=size=1920x1080:rate={RATE},scroll=horizontal=0.004:vertical=0.002,noise=alls=2:allf=t"
SOUND: Final = "anoisesrc=color=pink:amplitude=0.2:sample_rate=48000,aformat=channel_layouts=stereo"
GOP: Final = 60


def make(ffmpeg: str, path: Path, seconds: int) -> None:
    command = [
        *(ffmpeg, "-nostdin", "-hide_banner", "-loglevel", "error", "-y"),
        *("-f", "lavfi", "-i", PICTURE, "-f", "lavfi", "-i", SOUND, "-t", str(seconds)),
        *("-c:v", "libx264", "-preset", "superfast", "-crf", "21", "-pix_fmt", "yuv420p"),
        *("-maxrate", "16M", "-bufsize", "32M"),
        *("-g", str(GOP), "-keyint_min", str(GOP), "-sc_threshold", "0"),
        *("-c:a", "aac", "-b:a", "192k", "-movflags", "+faststart", str(path)),
    ]
    subprocess.run(command, check=True)
