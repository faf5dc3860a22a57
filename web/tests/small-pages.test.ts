import { describe, expect, it } from 'vitest';
import { healthOf } from '../src/pages/webhooks/health';
import { groupOf, shownValue } from '../src/pages/settings/groups';

const attempt = (at: string, status: number | null) => ({ number: 1, at, seconds: 0.1, status, failure: null, response: null });
const ENABLED = { enabled: true, failing_since: null };

describe('the health of a webhook', () => {
  it('follows its newest attempt', () => {
    const deliveries = [
      { status: 'pending' as const, attempts: [attempt('2026-01-01T00:00:02Z', 500)] },
      { status: 'delivered' as const, attempts: [attempt('2026-01-01T00:00:01Z', 200)] },
    ];
    expect(healthOf(ENABLED, deliveries)).toMatchObject({ status: 'failing', delivered: 1, pending: 1, failed: 0, lastStatus: 500 });
    expect(healthOf(ENABLED, deliveries.slice(1)).status).toBe('delivered');
  });

  it('tells an unused endpoint from one that fails or is disabled', () => {
    expect(healthOf(ENABLED, []).status).toBe('unused');
    expect(healthOf({ ...ENABLED, failing_since: '2026-01-01T00:00:00Z' }, []).status).toBe('failing');
    expect(healthOf({ enabled: false, failing_since: '2026-01-01T00:00:00Z' }, []).status).toBe('disabled');
    expect(healthOf(ENABLED, [{ status: 'pending', attempts: [attempt('2026-01-01T00:00:00Z', null)] }]).status).toBe('failing');
  });
});

describe('settings', () => {
  it('are in groups', () => {
    expect(['database_url', 'redis_pool', 'worker_name', 'upload_quota', 'serve_port', 'nothing_known'].map(groupOf)).toEqual(['Store', 'Dispatch', 'Workers', 'Storage and inputs', 'HTTP', 'Other']);
  });

  it('have units', () => {
    expect(shownValue({ name: 'keep_states', value: 86_400, meaning: 'How long states are kept.' })).toBe('86,400 s (1 d)');
    expect(shownValue({ name: 'input_limit', value: 2_000_000_000, meaning: 'Largest source, in bytes.' })).toBe('2,000,000,000 (2.0 GB)');
    expect(shownValue({ name: 'app', value: '', meaning: 'x' })).toBe('not set');
    expect(shownValue({ name: 'serve_port', value: 8700, meaning: 'Port' })).toBe('8,700');
  });
});
