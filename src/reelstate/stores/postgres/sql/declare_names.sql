SELECT DISTINCT name FROM reelstate.pipelines ORDER BY name
