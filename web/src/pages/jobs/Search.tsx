/** The search field: the grammar of `reel jobs` with suggestions of the server, or the id of a job. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { api, type ApiError } from '../../api/client';
import { Icon } from '../../components/Icon';
import { hrefOf, navigate, query, setQuery } from '../../router';
import { addressParams, filterOf, isWhole, ownSuggestions, parseSearch, searchText, type Suggestion } from './filter';

/** `error` is why the server refused the search that is shown. */
export function SearchField({ error }: { error: ApiError | null }) {
  const shown = searchText(filterOf(query.value));
  const [text, setText] = useState(shown);
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const found = useSuggestions(text, isOpen);
  const problem = error && text === shown ? error : null;
  const current = found[at];

  useEffect(() => setText(shown), [shown]);
  useEffect(() => {
    if (query.value.get('focus') !== 'search') return;
    setQuery({ focus: undefined });
    field.current?.focus();
  }, [query.value]);

  const submit = (value: string) => {
    const search = parseSearch(value);
    setOpen(false);
    if (search.job) navigate(hrefOf(['jobs', search.job]));
    else {
      setText(searchText(search.filter));
      setQuery(addressParams(search.filter), { push: true });
    }
  };
  const choose = (suggestion: Suggestion) => {
    setAt(-1);
    field.current?.focus();
    if (isWhole(suggestion)) submit(suggestion.text);
    else {
      setText(suggestion.text);
      setOpen(true);
    }
  };
  const move = (step: number) => {
    setOpen(true);
    // Before the first option is the text itself.
    if (found.length) setAt(((at + 1 + step + found.length + 1) % (found.length + 1)) - 1);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const actions: Record<string, () => void> = {
      ArrowDown: () => move(1),
      ArrowUp: () => move(-1),
      Enter: () => (current ? choose(current) : submit(text)),
      Escape: () => (found.length ? setOpen(false) : field.current?.blur()),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  };
  return (
    <div class="jobs-search">
      <Icon name="search" />
      <input
        ref={field}
        data-search
        class="input"
        type="text"
        role="combobox"
        aria-label="Search jobs"
        aria-expanded={found.length > 0}
        aria-controls={list}
        aria-autocomplete="list"
        aria-activedescendant={current && `${list}-${at}`}
        aria-invalid={problem !== null}
        aria-describedby={problem ? `${list}-problem` : undefined}
        placeholder="Id, or status:failed created:<7d"
        spellcheck={false}
        autoComplete="off"
        value={text}
        onFocus={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
          setAt(-1);
        }}
        onKeyDown={onKeyDown}
      />
      <div class="menu-list" data-align="left" id={list} role="listbox" aria-label="Suggestions" hidden={!found.length}>
        {found.map((each, index) => (
          <div
            key={each.shown}
            id={`${list}-${index}`}
            role="option"
            class="menu-item"
            data-current={index === at}
            aria-selected={index === at}
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => choose(each)}
          >
            <span class="mono">{each.shown}</span> {each.example && !isWhole(each) && <span class="muted small mono">{each.example}</span>}
          </div>
        ))}
      </div>
      {problem && (
        <div class="jobs-problem tone-failed small" role="alert" id={`${list}-problem`}>
          {problem.message}
          {problem.hint && <span class="muted"> – {problem.hint}</span>}
        </div>
      )}
    </div>
  );
}

/** How the text may go on; the suggestions of an earlier text are shown until those of this one are there. */
function useSuggestions(text: string, isOpen: boolean): readonly Suggestion[] {
  const [found, setFound] = useState<readonly Suggestion[]>([]);
  useEffect(() => {
    if (!isOpen) return;
    const abort = new AbortController();
    api.get('/api/v1/jobs/suggestions', { query: { q: text }, signal: abort.signal }).then(
      (suggested) => setFound([...suggested, ...ownSuggestions(text)]),
      () => undefined, // a search can be written without suggestions
    );
    return () => abort.abort();
  }, [text, isOpen]);
  return isOpen ? found : [];
}
