import { toneOf, wordsOf } from '../status';
import { Mark } from './Icon';

/** A status: its mark and its words. `label` replaces the words. */
export function Status({ status, label }: { status: string; label?: string }) {
  const tone = toneOf(status);
  return (
    <span class={`status tone-${tone}`} data-status={status}>
      <Mark tone={tone} />
      {label ?? wordsOf(status)}
    </span>
  );
}
