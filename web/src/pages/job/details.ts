/** Reads what spans leave out, the workers and times of cells, for those that are looked at: a block of parts at a time. */

import { partOf, type CellsDocument, type StageCells } from './grid';

const BLOCK = 256;
/** Blocks that wait; those that were looked at longest ago are dropped. */
const MAX_WAITING = 8;
/** Milliseconds after a refusal in which nothing is read. */
const PAUSE = 3000;

type Load = (stage: string, first: number, last: number, signal: AbortSignal) => Promise<CellsDocument>;

export class Details {
  private readonly waiting = new Map<string, { stage: string; first: number }>();
  private readonly abort = new AbortController();
  private reading: string | null = null;
  private refusedAt = 0;

  constructor(
    private readonly load: Load,
    private readonly take: (document: CellsDocument) => void,
  ) {}

  /** Ask for a cell; nothing happens when it is known. */
  want(cells: StageCells, index: number): void {
    // A task that was never claimed has no worker and no times.
    if (cells.known[index] || !((cells.attempt[index] ?? 0) + (cells.lost[index] ?? 0))) return;
    const first = Math.floor(partOf(cells, index) / BLOCK) * BLOCK;
    const key = `${cells.name}/${first}`;
    if (key === this.reading || Date.now() - this.refusedAt < PAUSE) return;
    this.waiting.delete(key);
    this.waiting.set(key, { stage: cells.name, first });
    const oldest = this.waiting.keys().next();
    if (this.waiting.size > MAX_WAITING && !oldest.done) this.waiting.delete(oldest.value);
    if (this.reading === null) void this.read();
  }

  stop(): void {
    this.abort.abort();
  }

  private async read(): Promise<void> {
    this.reading = '';
    await Promise.resolve(); // what is looked at in the same frame is asked for together
    for (let next = [...this.waiting].at(-1); next && !this.abort.signal.aborted; next = [...this.waiting].at(-1)) {
      const [key, { stage, first }] = next;
      this.waiting.delete(key);
      this.reading = key;
      try {
        this.take(await this.load(stage, first, first + BLOCK - 1, this.abort.signal));
      } catch {
        this.refusedAt = Date.now();
        this.waiting.clear();
      }
    }
    this.reading = null;
  }
}
