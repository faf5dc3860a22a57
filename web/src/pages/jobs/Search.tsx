/** The search field: qualifiers with suggestions, or the id of a job. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon } from '../../components/Icon';
import { hrefOf, navigate, query, setQuery } from '../../router';
import { addressParams, filterOf, parseSearch, searchText, suggestions } from './filter';

export function SearchField({ pipelines }: { pipelines: readonly string[] }) {
  const shown = searchText(filterOf(query.value));
  const [text, setText] = useState(shown);
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [problem, setProblem] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const list = useId();
  const found = isOpen ? suggestions(text, pipelines) : [];

  useEffect(() => setText(shown), [shown]);
  useEffect(() => {
    if (query.value.get('focus') !== 'search') return;
    setQuery({ focus: undefined });
    field.current?.focus();
  }, [query.value]);

  const submit = (value: string) => {
    const search = parseSearch(value);
    setProblem(search.unknown.length ? `not understood: ${search.unknown.join(' ')}` : '');
    if (search.unknown.length) return;
    setOpen(false);
    if (search.job) navigate(hrefOf(['jobs', search.job]));
    else setQuery(addressParams(search.filter), { push: true });
  };
  const choose = (value: string) => {
    const isComplete = !value.endsWith(':');
    setText(value + (isComplete ? ' ' : ''));
    setAt(-1);
    field.current?.focus();
    if (isComplete) submit(value);
    setOpen(!isComplete);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      event.preventDefault();
      setOpen(true);
      const step = event.key === 'ArrowDown' ? 1 : -1;
      setAt(found.length ? (at + step + found.length + (at < 0 && step < 0 ? 1 : 0)) % found.length : -1);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const chosen = found[at];
      if (chosen) choose(chosen.text);
      else submit(text);
    } else if (event.key === 'Escape') {
      if (isOpen && found.length) setOpen(false);
      else field.current?.blur();
    }
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
        aria-invalid={problem !== ''}
        placeholder="Id, or status: pipeline: user: is:flagged"
        spellcheck={false}
        autoComplete="off"
        value={text}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
          setAt(-1);
          setProblem('');
        }}
        onKeyDown={onKeyDown}
      />
      {found.length > 0 && (
        <div class="menu-list" data-align="left" id={list} role="listbox">
          {found.map((each, index) => (
            <button key={each.shown} type="button" role="option" tabIndex={-1} class="menu-item mono" data-current={index === at} aria-selected={index === at} onMouseDown={(event) => event.preventDefault()} onClick={() => choose(each.text)}>
              {each.shown}
            </button>
          ))}
        </div>
      )}
      {problem && (
        <div class="jobs-problem tone-failed small" role="alert">
          {problem}
        </div>
      )}
    </div>
  );
}
