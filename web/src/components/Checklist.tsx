import type { ComponentChildren } from 'preact';

/** Names that can be chosen, each with its meaning. */
export function Checklist<Name extends string>(props: {
  legend: ComponentChildren;
  choices: readonly { name: Name; meaning: string }[];
  chosen: ReadonlySet<Name>;
  onChange: (chosen: ReadonlySet<Name>) => void;
}) {
  const toggle = (name: Name) => {
    const next = new Set(props.chosen);
    if (!next.delete(name)) next.add(name);
    props.onChange(next);
  };
  return (
    <fieldset class="choices">
      <legend>{props.legend}</legend>
      {props.choices.map(({ name, meaning }) => (
        <label key={name}>
          <input type="checkbox" checked={props.chosen.has(name)} onChange={() => toggle(name)} />
          <span>
            <span class="mono">{name}</span> <span class="muted small">{meaning}</span>
          </span>
        </label>
      ))}
    </fieldset>
  );
}
