import { describe, expect, it } from 'vitest';
import { codecName, fraction, frameAt, playTime, readManifest, renditionsOf, timeOfFrame } from '../src/library/manifest';

const MASTER = `#EXTM3U
#EXT-X-STREAM-INF:BANDWIDTH=716610,AVERAGE-BANDWIDTH=700015,CODECS="avc1.64001e,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=25.000
../../versions/8/package/0/1/video/360p.m3u8
#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=19892,RESOLUTION=640x360,URI="../x.m3u8"
`;
const rung = (name: string, sizes: [number, number]) => ({
  name,
  init: `${name}-init.mp4`,
  playlist: `${name}.m3u8`,
  key_frames: null,
  chunks: [{ key: `${name}.mp4`, segments: [[0, sizes[0], 90_000, 1], [sizes[0], sizes[1], 90_000, 1]] }],
});
const MANIFEST = {
  rate: '30000/1001',
  frames: 60,
  duration: '2',
  files: {
    'small-init.mp4': { size: 10 }, 'small.m3u8': { size: 5 }, 'small.mp4': { size: 300 },
    '360p-init.mp4': { size: 10 }, '360p.m3u8': { size: 5 }, '360p.mp4': { size: 4000 },
    'c.vtt': { size: 20 }, 'c.m3u8': { size: 4 }, 'poster.jpg': { size: 70 }, 'other.bin': { size: 6 },
  },
  rungs: [rung('small', [100, 200]), rung('360p', [1000, 3000])],
  audio: [],
  captions: [{ name: 'captions-0', playlist: 'c.m3u8', file: 'c.vtt' }],
};

describe('a manifest', () => {
  const found = readManifest(MANIFEST, MASTER);

  it('gives each track its bytes, and all files together the size of the version', () => {
    expect(found.tracks.map((track) => [track.kind, track.name, track.bytes])).toEqual([
      ['video', '360p', 4015],
      ['video', 'small', 315],
      ['captions', 'captions-0', 24],
      ['pictures', 'poster and previews', 70],
    ]);
    expect(found.bytes).toBe(4430);
  });

  it('gives the average bitrate, and that of the largest segment', () => {
    expect(found.tracks[0]).toMatchObject({ average: 16_000, peak: 24_000, width: 640, height: 360, codecs: 'avc1.64001e' });
    expect(found.tracks[1]).toMatchObject({ average: 1200, peak: 1600, width: null });
  });

  it('takes a manifest without tracks', () => {
    expect(readManifest({ ...MANIFEST, rungs: [], captions: [], files: {}, duration: '0' })).toMatchObject({ tracks: [], bytes: 0 });
  });

  it('reads renditions of playlists, not those of key frames', () => {
    expect([...renditionsOf(MASTER)]).toEqual([['360p', { width: 640, height: 360, codecs: 'avc1.64001e' }]]);
    expect(codecName('avc1.64001e')).toBe('H.264');
    expect(codecName(null)).toBe('');
  });
});

describe('frames', () => {
  it('are found again at every rate, also where times are rounded', () => {
    for (const rate of [24, 25, 30, 60, 24_000 / 1001, 30_000 / 1001, 60_000 / 1001]) {
      for (const frame of [0, 1, 2, 29, 30, 1798, 107_892]) {
        expect(frameAt(timeOfFrame(frame, rate), rate)).toBe(frame);
        expect(frameAt(Number((frame / rate).toFixed(6)), rate)).toBe(frame);
      }
    }
  });

  it('have times as players write them', () => {
    expect([0, 75.9, 3723, Number.NaN].map(playTime)).toEqual(['0:00', '1:15', '1:02:03', '–']);
    expect(fraction('30000/1001')).toBeCloseTo(29.97, 2);
    expect(fraction('1/0')).toBe(0);
  });
});
