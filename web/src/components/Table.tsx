import type { ComponentChildren } from 'preact';

export interface Column<Row> {
  label: string;
  /** The name of a cell where a row is a card; by default the label. */
  name?: string;
  kind?: 'number' | 'text' | 'muted text' | 'actions';
  cell: (row: Row) => ComponentChildren;
  title?: (row: Row) => string;
}

const CLASSES = { number: 'number', text: 'cell-text', 'muted text': 'cell-text muted', actions: 'actions' } as const;

/** A table whose rows are cards on narrow screens. A column that is `false` is left out. */
export function Table<Row>(props: {
  columns: readonly (Column<Row> | false)[];
  rows: readonly Row[];
  keyOf: (row: Row) => string | number;
  /** Attributes of a row, such as `data-key`. */
  attributes?: (row: Row) => Record<`data-${string}`, string | number | boolean>;
}) {
  const columns = props.columns.filter((column): column is Column<Row> => column !== false);
  return (
    <div class="table-scroll">
      <table class="table cards">
        <thead>
          <tr>
            {columns.map((column) =>
              column.kind === 'actions' ? (
                <th key={column.label} aria-label={column.label} />
              ) : (
                <th key={column.label} class={column.kind === 'number' ? 'number' : undefined}>
                  {column.label}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {props.rows.map((row) => (
            <tr key={props.keyOf(row)} {...props.attributes?.(row)}>
              {columns.map((column) => (
                <td
                  key={column.label}
                  class={column.kind && CLASSES[column.kind]}
                  data-label={column.kind === 'actions' ? undefined : (column.name ?? column.label)}
                  title={column.title?.(row)}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
