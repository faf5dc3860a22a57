/** The states that tasks report of themselves: tasks × tags. */

import { api } from '../../api/client';
import type { StateRecord } from '../../api/types';
import { EmptyState, ErrorState, Skeleton } from '../../components/States';
import { Time } from '../../components/Time';
import { VirtualList } from '../../components/VirtualList';
import { useResource } from '../../live/resource';

const ROW = 32;

export function StatesGrid({ job }: { job: string }) {
  const states = useResource(
    () => ({
      job,
      load: (signal) => api.get('/api/v1/states/{job_id}', { path: { job_id: job }, signal }),
      matters: (batch) => batch.events.some((event) => event.kind === 'state'),
      every: 1000,
    }),
    [job],
  );
  if (states.error.value && !states.value.value) return <ErrorState error={states.error.value} retry={() => void states.reload()} />;
  const found = states.value.value;
  if (!found) return <Skeleton />;
  if (!found.stages.length) {
    return (
      <EmptyState icon="machines" title="No states">
        <p>
          A handler reports a state under a tag with <code>task.state("tag", …)</code>. Each tag becomes a column here.
        </p>
      </EmptyState>
    );
  }
  return (
    <div class="stack">
      {found.stages.map((stage) => {
        const tags = [...new Set([...stage.expected_tags, ...stage.states.map((state) => state.tag)])];
        const byTask = new Map<number, Map<string, StateRecord>>();
        for (const state of stage.states) {
          const of = byTask.get(state.task) ?? new Map<string, StateRecord>();
          of.set(state.tag, state);
          byTask.set(state.task, of);
        }
        const tasks = [...byTask.keys()].sort((a, b) => a - b);
        const tracks = `70px repeat(${tags.length}, minmax(120px, 1fr))`;
        return (
          <section key={stage.name} class="stack">
            <h3>{stage.name}</h3>
            <VirtualList
              class="states-grid"
              role="table"
              label={`States of ${stage.name}`}
              count={tasks.length}
              rowHeight={ROW}
              minWidth={70 + tags.length * 130}
              head={
                <div class="states-row states-head" role="row" style={{ gridTemplateColumns: tracks }}>
                  <span role="columnheader">task</span>
                  {tags.map((tag) => (
                    <span key={tag} role="columnheader" class="truncate">
                      {tag}
                    </span>
                  ))}
                </div>
              }
              row={(index) => {
                const task = tasks[index];
                if (task === undefined) return null;
                return (
                  <div class="states-row" role="row" style={{ gridTemplateColumns: tracks }}>
                    <span role="cell">{task}</span>
                    {tags.map((tag) => {
                      const state = byTask.get(task)?.get(tag);
                      return (
                        <span key={tag} role="cell" class={`truncate states-cell severity-${state?.severity ?? 'none'}`} title={state ? JSON.stringify(state.payload) : ''}>
                          {state ? (
                            <>
                              <strong>{state.status}</strong> {state.message} <span class="muted"><Time at={state.timestamp} /></span>
                            </>
                          ) : (
                            <span class="muted">–</span>
                          )}
                        </span>
                      );
                    })}
                  </div>
                );
              }}
            />
          </section>
        );
      })}
    </div>
  );
}
