import { describe, expect, it } from 'vitest';
import { isStoredList, metadataOf, nextPiece, remedyOf, retryDelay, Speed, titleOf, uploadOf, type StoredUpload } from '../src/library/upload';

const MB = 1024 * 1024;
const STORED: StoredUpload = { id: 'u1', name: 'a.mp4', size: 10, modified: 5, title: 'a', profile: '', received: 4, createdAt: 1 };

describe('the plan of an upload', () => {
  it('sends every byte once, in pieces', () => {
    const sent: [number, number][] = [];
    for (let received = 0, piece = nextPiece(received, 20 * MB); piece; piece = nextPiece((received = piece.end), 20 * MB)) sent.push([piece.start, piece.end]);
    expect(sent).toEqual([[0, 8 * MB], [8 * MB, 16 * MB], [16 * MB, 20 * MB]]);
  });

  it('goes on at the byte that the server names, also in the middle of a piece', () => {
    expect(nextPiece(5, 12, 4)).toEqual({ start: 5, end: 9 });
    expect(nextPiece(12, 12, 4)).toBeNull();
    expect(nextPiece(0, 0)).toBeNull();
  });

  it('finds what a file continues by its name, size and time of change', () => {
    expect(uploadOf({ name: 'a.mp4', size: 10, lastModified: 5 }, [STORED])).toBe(STORED);
    for (const other of [{ name: 'b.mp4' }, { size: 11 }, { lastModified: 6 }]) expect(uploadOf({ name: 'a.mp4', size: 10, lastModified: 5, ...other }, [STORED])).toBeUndefined();
  });

  it('waits longer after each failure, up to half a minute', () => {
    expect(retryDelay(1, 0.5)).toBe(1000);
    expect(retryDelay(3, 0.5)).toBe(4000);
    expect(retryDelay(50, 0.5)).toBe(30_000);
    expect(retryDelay(2, 0)).toBeLessThan(retryDelay(2, 1));
  });

  it('knows what an answer means', () => {
    expect([409, 404, 0, 408, 429, 503, 507, 413, 422, 403].map(remedyOf)).toEqual(['ask offset', 'start again', 'try again', 'try again', 'try again', 'try again', 'give up', 'give up', 'give up', 'give up']);
  });

  it('writes names in base64 of UTF-8', () => {
    expect(metadataOf('Über.mp4')).toBe('filename w5xiZXIubXA0');
    expect(titleOf('my_holiday.2026.mov')).toBe('my holiday.2026');
    expect(titleOf('.mp4')).toBe('.mp4');
  });

  it('measures the speed of the last seconds', () => {
    const speed = new Speed();
    expect(speed.value).toBe(0);
    for (let second = 0; second <= 20; second++) speed.add(second * 1000, second < 10 ? 0 : (second - 10) * 500);
    expect(speed.value).toBe(500);
  });

  it('refuses a damaged memory', () => {
    expect(isStoredList([STORED])).toBe(true);
    for (const wrong of [null, {}, [null], [{ ...STORED, size: '10' }], [{ id: 'x' }]]) expect(isStoredList(wrong)).toBe(false);
  });
});
