import { percent } from '../format';
import { toneOf } from '../status';

/** A bar of progress in percent, in the colour of a status. */
export function Progress({ value, status = 'running', label }: { value: number; status?: string; label?: string }) {
  const shown = Math.max(0, Math.min(100, value));
  return (
    <div
      class="progress"
      data-tone={toneOf(status)}
      role="progressbar"
      aria-valuenow={Math.floor(shown)}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-label={label ?? 'Progress'}
      title={percent(value)}
    >
      <span style={{ transform: `scaleX(${shown / 100})` }} />
    </div>
  );
}
