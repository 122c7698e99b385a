// Your own prices of models, one on each row. What is left empty is as the input.

import { type FormEvent, useEffect, useState } from "react";

const COLUMNS = [
  { name: "input", label: "Input", required: true },
  { name: "output", label: "Output", required: true },
  { name: "cache_read", label: "Cache read", required: false },
  { name: "cache_write", label: "Cache write", required: false },
  { name: "cache_write_1h", label: "Cache write 1 h", required: false },
] as const;

type Row = Record<string, string>;

const EMPTY: Row = { model: "" };

export function Prices({ prices, save, pending }: { prices: unknown; save: (value: unknown) => void; pending: boolean }) {
  const stands = JSON.stringify(prices);
  const [rows, setRows] = useState<Row[]>([]);
  useEffect(() => setRows(rowsOf(JSON.parse(stands))), [stands]);
  const edited = JSON.stringify(rows) !== JSON.stringify(rowsOf(prices));
  const change = (index: number, name: string, value: string) =>
    setRows(rows.map((row, at) => (at === index ? { ...row, [name]: value } : row)));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save(rows.map(tableOf));
  };
  return (
    <form className="prices" onSubmit={submit}>
      {rows.length > 0 ? (
        <div className="scroll-x" role="region" aria-label="Your prices" tabIndex={0}>
          <table className="table">
            <thead>
              <tr>
                <th>Model</th>
                {COLUMNS.map((column) => (
                  <th key={column.name}>{column.label}</th>
                ))}
                <th>
                  <span className="visually-hidden">Remove it</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={index}>
                  <td>
                    <input
                      className="field mono"
                      aria-label={`Model ${index + 1}`}
                      required
                      value={row.model ?? ""}
                      onChange={(event) => change(index, "model", event.target.value)}
                    />
                  </td>
                  {COLUMNS.map((column) => (
                    <td key={column.name}>
                      <input
                        className="field price"
                        type="number"
                        min={0}
                        step="any"
                        required={column.required}
                        aria-label={`${column.label} of model ${index + 1}`}
                        value={row[column.name] ?? ""}
                        onChange={(event) => change(index, column.name, event.target.value)}
                      />
                    </td>
                  ))}
                  <td>
                    <button
                      type="button"
                      className="button plain small danger"
                      aria-label={`Remove the price of ${row.model || `model ${index + 1}`}`}
                      onClick={() => setRows(rows.filter((_, at) => at !== index))}
                    >
                      Remove
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
      <span className="setting-actions">
        <button type="button" className="button small" onClick={() => setRows([...rows, EMPTY])}>
          Add a price
        </button>
        {edited ? (
          <>
            <button type="submit" className="button primary small" disabled={pending}>
              Save
            </button>
            <button type="button" className="button small" onClick={() => setRows(rowsOf(prices))}>
              Cancel
            </button>
          </>
        ) : null}
      </span>
    </form>
  );
}

function rowsOf(prices: unknown): Row[] {
  if (!Array.isArray(prices)) return [];
  return prices.map((price: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(price).map(([name, value]) => [name, String(value)])),
  );
}

function tableOf(row: Row): Record<string, unknown> {
  const numbers = COLUMNS.filter((column) => row[column.name]?.trim()).map((column) => [column.name, Number(row[column.name])]);
  return { model: (row.model ?? "").trim(), ...Object.fromEntries(numbers) };
}
