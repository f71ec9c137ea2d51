// What the Reports view shows beside its table: the scan, refused admissions, and the reason of one row.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type ReportRow, type TryAnswer, addressOf, get } from "./api";
import { CodeLines, type CodeMark } from "./CodeLines";
import { Drawer } from "./Drawer";
import { TraceTree } from "./TraceTree";
import { Waiting, useAnswer } from "./panels";
import { type OutcomeRow, glyphs, groupsOf, leadOf, placeText, statusWords } from "./rows";
import { type PlacePair, session } from "./session";
import { useStore } from "./store";

interface ScanProgress { phase: string; judged: number; total: number; objectsPerSecond: number; pending: number; lastPass: string; leader: boolean | string }

export const Progress = ({ reportsChanged }: { reportsChanged: (version: string) => void }) => {
  const [progress, setProgress] = useState<ScanProgress | null>(null);
  const [isLost, setIsLost] = useState(false);
  useEffect(() => {
    const source = new EventSource(addressOf("scan"));
    source.addEventListener("progress", (event) => { setIsLost(false); setProgress(JSON.parse(event.data) as ScanProgress); });
    source.addEventListener("reports", (event) => reportsChanged((JSON.parse(event.data) as { version: string }).version));
    source.addEventListener("error", () => setIsLost(true));
    return () => source.close();
  }, []);
  if (isLost) return <p class="scan-line dim" role="status">The scan cannot be followed now; trying again.</p>;
  if (!progress) return null;
  const isBusy = progress.total > 0 && progress.judged < progress.total;
  return (
    <div class="scan-line">
      {isBusy && <progress max={progress.total} value={progress.judged} aria-label="objects judged" />}
      <span>{progress.phase}{isBusy ? `: ${progress.judged} of ${progress.total} objects` : ""}</span>
      {progress.objectsPerSecond > 0 && <span class="dim">{Math.round(progress.objectsPerSecond)} per second</span>}
      {progress.pending > 0 && <span class="dim">{progress.pending} waiting</span>}
      {progress.lastPass && <span class="dim">last pass {progress.lastPass}</span>}
    </div>
  );
};

interface BlockedRow { time: string; object: string; user?: string; rule: string; message: string }

export const Blocked = ({ version }: { version: string }) => {
  const { value } = useAnswer((signal) => get<{ rows: BlockedRow[] }>("blocked", signal), [version]);
  if (!value || value.rows.length === 0) return null;
  return (
    <details class="pad"><summary>{value.rows.length === 1 ? "1 refused admission" : `${value.rows.length} refused admissions`} of late</summary>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="refused admissions"><table class="grid">
        <thead><tr><th scope="col">time</th><th scope="col">object</th><th scope="col">rule</th><th scope="col">message</th><th scope="col">user</th></tr></thead>
        <tbody>{value.rows.slice(0, 200).map((row, at) => <tr key={at}><td>{row.time}</td><td>{String(row.object)}</td><td>{row.rule}</td><td class="wide">{row.message}</td><td>{row.user ?? ""}</td></tr>)}</tbody>
      </table></div>
    </details>
  );
};

export const Why = ({ row, close }: { row: ReportRow; close: () => void }) => {
  const query = new URLSearchParams({ ...row.object, policy: row.policy, rule: row.rule });
  query.delete("uid");
  const { value, failure } = useAnswer((signal) => get<TryAnswer>(`why?${query}`, signal), [row.id]);
  return (
    <Drawer title={`${row.object.kind} ${[row.object.namespace, row.object.name].filter(Boolean).join("/")}`} close={close}>
      <p><span class="dim">report</span> <strong>{row.result}</strong> {[row.policy, row.rule].filter(Boolean).join("/")}: {row.message} <span class="dim">{row.timestamp}</span></p>
      {value ? <LiveReason answer={value} /> : <Waiting failure={failure} />}
    </Drawer>
  );
};

const LiveReason = ({ answer }: { answer: TryAnswer }) => {
  const groups = useMemo(() => groupsOf(answer), [answer]);
  const lead = leadOf(groups) ?? groups[0]?.rows[0] ?? null;
  const pointed = useStore(session, (value) => value.pointed);
  useEffect(() => () => session.set({ pointed: null }), []);
  const place = pointed ?? lead?.cause ?? null;
  return (
    <>
      {answer.differs?.map((one, at) => <p key={at} class="caution">⚠ {one.rule}: the report says {one.report}, now it is {one.now}. The object or the rule has changed since.</p>)}
      {lead ? <NowRow row={lead} /> : <p>No rule is about this object now.</p>}
      {answer.files?.map((file) => <details key={file.name} open><summary>{file.role === "rules" ? "rule" : "object"} <span class="dim">{file.name}</span></summary>
        <CodeLines text={file.text} marks={marksOf(file.name, place)} label={file.name} /></details>)}
    </>
  );
};

const NowRow = ({ row }: { row: OutcomeRow }) => (
  <div class={`row s-${row.status} open`}><span class="glyph" role="img" aria-label={statusWords[row.status]}>{glyphs[row.status]}</span><div>
    <p class="reason">{row.reason || statusWords[row.status]}</p>
    <p class="rule">{row.rule} <span class="dim">{statusWords[row.status]} now</span></p>
    {row.help !== "" && <p class="help">{row.help}</p>}
    {row.cause && <p class="places">{[placeText(row.cause.ruleFile, row.cause.ruleLine), placeText(row.cause.objectFile, row.cause.objectLine)].filter(Boolean).join("  ↔  ")}</p>}
    {row.trace && row.trace.trace.length > 0 && <TraceTree trace={row.trace} label={`trace of ${row.rule}`} />}
  </div></div>
);

const marksOf = (name: string, pair: PlacePair | null): Map<number, CodeMark> => {
  const marks = new Map<number, CodeMark>();
  if (pair?.ruleFile === name && pair.ruleLine) marks.set(pair.ruleLine, { class: "line-cause", note: pair.ruleNote });
  if (pair?.objectFile === name && pair.objectLine) marks.set(pair.objectLine, { class: "line-cause", note: pair.objectNote });
  return marks;
};
