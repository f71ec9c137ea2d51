// The reports of the cluster: namespaces and results first, then the rows, and for a row the reason as of now.
import { useEffect, useRef, useState } from "preact/hooks";
import { type NamespaceCounts, type ReportRow, type ReportsAnswer, addressOf, get, messageOf } from "./api";
import { Blocked, Progress, Why } from "./ReportParts";

export type Filters = Record<"namespace" | "policy" | "rule" | "severity" | "result" | "kind" | "owner" | "source" | "dialect" | "text", string>;
const noFilters: Filters = { namespace: "", policy: "", rule: "", severity: "", result: "", kind: "", owner: "", source: "", dialect: "", text: "" };
const results = ["fail", "error", "warn", "pass", "skip"] as const;
const resultGlyphs: Record<string, string> = { fail: "✗", error: "!", warn: "⚠", pass: "✓", skip: "·" };
const PAGE_ROWS = 100;
const ASK_PAUSE_MILLIS = 150;

type Totals = ReportsAnswer["summary"]["total"];

const queryOf = (filters: Filters): URLSearchParams => {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(filters)) if (value !== "") query.set(key, value);
  return query;
};

export const Reports = () => {
  const [filters, setFilters] = useState<Filters>({ ...noFilters, result: "" });
  const [offset, setOffset] = useState(0);
  const [version, setVersion] = useState("");
  const [answer, setAnswer] = useState<ReportsAnswer | null>(null);
  const [failure, setFailure] = useState("");
  const [row, setRow] = useState<ReportRow | null>(null);
  const trend = useRef<{ time: number; total: Totals }[]>([]);

  useEffect(() => {
    const mine = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        const query = queryOf(filters);
        query.set("limit", String(PAGE_ROWS));
        query.set("offset", String(offset));
        const next = await get<ReportsAnswer>(`reports?${query}`, mine.signal);
        if (queryOf(filters).size === 0) keepTrend(trend.current, next.summary.total);
        setAnswer(next);
        setFailure("");
      } catch (error) {
        if (!mine.signal.aborted) setFailure(messageOf(error));
      }
    };
    const timer = window.setTimeout(() => { void ask(); }, ASK_PAUSE_MILLIS);
    return () => { window.clearTimeout(timer); mine.abort(); };
  }, [filters, offset, version]);

  const change = (part: Partial<Filters>): void => { setFilters({ ...filters, ...part }); setOffset(0); };
  return (
    <main class="reports">
      <Progress reportsChanged={setVersion} />
      {failure !== "" && <p class="failure" role="alert">{failure}</p>}
      {answer && (
        <>
          <div class="report-top"><Namespaces answer={answer} filters={filters} change={change} /><Trend points={trend.current} /></div>
          {answer.notes?.map((note, at) => <p key={at} class="dim pad">{note}</p>)}
          <FilterBar answer={answer} filters={filters} change={change} />
          <Rows answer={answer} offset={offset} setOffset={setOffset} open={setRow} />
        </>
      )}
      <Blocked version={version} />
      {row && <Why row={row} close={() => setRow(null)} />}
    </main>
  );
};

const keepTrend = (points: { time: number; total: Totals }[], total: Totals): void => {
  const last = points.at(-1);
  if (!last || results.some((result) => last.total[result] !== total[result])) points.push({ time: Date.now(), total });
};

const Trend = ({ points }: { points: { time: number; total: Totals }[] }) => {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return null;
  const difference = (result: typeof results[number]): string => {
    const change = last.total[result] - first.total[result];
    return change === 0 ? "" : change > 0 ? `+${change}` : String(change);
  };
  const changes = results.filter((result) => difference(result) !== "");
  const most = Math.max(1, ...points.map((point) => point.total.fail));
  const line = points.map((point, at) => `${(at / Math.max(1, points.length - 1)) * 120},${30 - (point.total.fail / most) * 28}`).join(" ");
  return (
    <section class="trend" aria-label="trend">
      <h3>Since {new Date(first.time).toLocaleTimeString()}</h3>
      {changes.length === 0 ? <p class="dim">nothing has changed</p> : <p>{changes.map((result) => <span key={result} class={`count s-${result}`}>{resultGlyphs[result]} {difference(result)} {result} </span>)}</p>}
      {points.length > 1 && <svg viewBox="0 0 120 32" width="120" height="32" role="img" aria-label={`failures: ${points.map((point) => point.total.fail).join(", ")}`}><polyline points={line} /></svg>}
    </section>
  );
};

interface ViewProps { answer: ReportsAnswer; filters: Filters; change: (part: Partial<Filters>) => void }

const Namespaces = ({ answer, filters, change }: ViewProps) => {
  const rows: NamespaceCounts[] = [...answer.summary.namespaces].sort((one, other) => other.fail - one.fail || (one.namespace < other.namespace ? -1 : 1));
  const isOn = (namespace: string, result: string): boolean => filters.namespace === namespace && filters.result === result;
  const cell = (namespace: string, result: typeof results[number], count: number) => (
    <td key={result} class={`number s-${result} ${isOn(namespace, result) ? "on" : ""}`}>
      {count === 0 ? <span class="dim">0</span> : <button class="link" aria-pressed={isOn(namespace, result)} aria-label={`${count} ${result} in ${namespace || "all namespaces"}`}
        onClick={() => change(isOn(namespace, result) ? { namespace: "", result: "" } : { namespace, result })}>{count}</button>}
    </td>
  );
  return (
    <div class="table-scroll" tabIndex={0} role="region" aria-label="results by namespace">
      <table class="grid">
        <thead><tr><th scope="col">namespace</th>{results.map((result) => <th key={result} scope="col">{resultGlyphs[result]} {result}</th>)}</tr></thead>
        <tbody>
          {rows.map((row) => <tr key={row.namespace}><th scope="row">{row.namespace || "(cluster)"}</th>{results.map((result) => cell(row.namespace, result, row[result]))}</tr>)}
          <tr class="sum"><th scope="row">all</th>{results.map((result) => cell("", result, answer.summary.total[result]))}</tr>
        </tbody>
      </table>
    </div>
  );
};

const FilterBar = ({ answer, filters, change }: ViewProps) => {
  const choices: (keyof Filters)[] = ["result", "policy", "rule", "severity", "kind", "owner", "source", "dialect"];
  const query = queryOf(filters).toString();
  return (
    <div class="bar pad filters">
      <input type="search" aria-label="search the reports" placeholder="text" value={filters.text} onInput={(event) => change({ text: event.currentTarget.value })} />
      {filters.namespace !== "" && <button aria-label={`all namespaces instead of ${filters.namespace}`} onClick={() => change({ namespace: "" })}>{filters.namespace} ✕</button>}
      {choices.filter((name) => (answer.facets[name]?.length ?? 0) > 0 || filters[name] !== "").map((name) => (
        <label key={name}>{name} <select value={filters[name]} onChange={(event) => change({ [name]: event.currentTarget.value })}>
          <option value="">all</option>
          {filters[name] !== "" && !answer.facets[name]?.some(([value]) => value === filters[name]) && <option value={filters[name]}>{filters[name]}</option>}
          {answer.facets[name]?.map(([value, count]) => <option key={value} value={value}>{value || "(none)"} ({count})</option>)}
        </select></label>
      ))}
      <span class="spacer" />
      <button disabled={query === ""} onClick={() => change(noFilters)}>reset</button>
      <a class="button" href={addressOf(`reports.csv?${query}`)} download="reports.csv">CSV</a>
      <a class="button" href={addressOf(`reports.json?${query}`)} download="reports.json">JSON</a>
    </div>
  );
};

const Rows = ({ answer, offset, setOffset, open }: { answer: ReportsAnswer; offset: number; setOffset: (offset: number) => void; open: (row: ReportRow) => void }) => (
  <>
    <div class="table-scroll" tabIndex={0} role="region" aria-label="rows of the reports">
      <table class="grid rows-table">
        <thead><tr><th scope="col">result</th><th scope="col">object</th><th scope="col">rule</th><th scope="col">message</th><th scope="col">severity</th><th scope="col">owner</th></tr></thead>
        <tbody>{answer.rows.map((row) => (
          <tr key={row.id}>
            <td class={`s-${row.result}`}><span class="glyph" aria-hidden="true">{resultGlyphs[row.result] ?? "·"} </span>{row.result}</td>
            <td><button class="link" onClick={() => open(row)}>{row.object.kind} {[row.object.namespace, row.object.name].filter(Boolean).join("/")}</button></td>
            <td>{[row.policy, row.rule].filter(Boolean).join("/")}</td>
            <td class="wide">{row.message}</td><td>{row.severity}</td><td>{row.owner}</td>
          </tr>
        ))}</tbody>
      </table>
    </div>
    <div class="bar pad" role="status">
      {answer.total === 0 ? "no row" : `${offset + 1} to ${Math.min(answer.total, offset + answer.rows.length)} of ${answer.total}`}
      <button disabled={offset === 0} onClick={() => setOffset(Math.max(0, offset - PAGE_ROWS))}>back</button>
      <button disabled={offset + answer.rows.length >= answer.total} onClick={() => setOffset(offset + PAGE_ROWS)}>next</button>
    </div>
  </>
);
