// What the Reports view shows beside its table: the scan, refused admissions, and the reason of one row.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type GraphAnswer, type ReportRow, type TryAnswer, addressOf, get } from "./api";
import { CodeLines, type CodeMark } from "./CodeLines";
import { Drawer } from "./Drawer";
import { Picture } from "./Picture";
import { TraceTree } from "./TraceTree";
import { Waiting, useAnswer } from "./panels";
import { type OutcomeRow, glyphs, groupsOf, leadOf, placeText, statusWords } from "./rows";
import { type PlacePair, session } from "./session";
import { useStore } from "./store";

interface ScanProgress { phase: string; judged: number; total: number; objectsPerSecond: number; pending: number; lastPass: number | null; isLeader?: boolean }

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
  const lost = <span class="dim" role="status">{isLost ? "the scan cannot be followed now; trying again" : ""}</span>;
  if (!progress) return isLost ? <p class="scan-line">{lost}</p> : null;
  const isBusy = progress.total > 0 && progress.judged < progress.total;
  return (
    <div class="scan-line">
      {isBusy && <progress max={progress.total} value={progress.judged} aria-label="objects judged" />}
      <span>{progress.phase}{isBusy ? `: ${progress.judged} of ${progress.total} objects` : ""}</span>
      {progress.objectsPerSecond > 0 && <span class="dim">{Math.round(progress.objectsPerSecond)} per second</span>}
      {progress.pending > 0 && <span class="dim">{progress.pending} waiting</span>}
      {progress.lastPass !== null && <span class="dim">last pass {timeText(progress.lastPass)}</span>}
      {lost}
    </div>
  );
};

/// Seconds since 1970 as a time of day, with the date where it is another day.
export const timeText = (seconds: string | number | null): string => {
  const time = new Date(Number(seconds) * 1000);
  if (!seconds || Number.isNaN(time.getTime())) return String(seconds ?? "");
  return time.toDateString() === new Date().toDateString() ? time.toLocaleTimeString() : time.toLocaleString();
};

interface BlockedRow { time: string; count?: number; object: { kind: string; namespace: string; name: string }; user?: string; rule: string; message: string }

const BLOCKED_PAUSE_MILLIS = 15_000;

export const Blocked = ({ version }: { version: string }) => {
  // A refused request changes no report, so nothing tells of it.
  const [round, setRound] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => setRound((last) => last + 1), BLOCKED_PAUSE_MILLIS);
    return () => window.clearInterval(timer);
  }, []);
  const { value } = useAnswer((signal) => get<{ rows: BlockedRow[] }>("blocked", signal), [version, round]);
  if (!value || value.rows.length === 0) return null;
  return (
    <details class="pad"><summary>{value.rows.length === 1 ? "1 refused admission" : `${value.rows.length} refused admissions`} of late</summary>
      <div class="table-scroll" tabIndex={0} role="region" aria-label="refused admissions"><table class="grid">
        <thead><tr><th scope="col">time</th><th scope="col">object</th><th scope="col">rule</th><th scope="col">message</th></tr></thead>
        <tbody>{value.rows.slice(0, 200).map((row, at) => <tr key={at}><td>{row.time}{(row.count ?? 1) > 1 ? ` ×${row.count}` : ""}</td><td>{row.object.kind} {[row.object.namespace, row.object.name].filter(Boolean).join("/")}</td><td>{row.rule}</td><td class="wide">{row.message}</td></tr>)}</tbody>
      </table></div>
    </details>
  );
};

export const Why = ({ row, close }: { row: ReportRow; close: () => void }) => {
  const query = new URLSearchParams({ ...row.object, policy: row.policy, rule: row.rule });
  query.delete("uid");
  const { value, failure } = useAnswer((signal) => row.dialect === "pattern" ? Promise.resolve(null) : get<TryAnswer>(`why?${query}`, signal), [row.id]);
  return (
    <Drawer title={`${row.object.kind} ${[row.object.namespace, row.object.name].filter(Boolean).join("/")}`} close={close}>
      <p><span class="dim">report</span> <strong>{row.result}</strong> {[row.policy, row.rule].filter(Boolean).join("/")}: {row.message} <span class="dim">{timeText(row.timestamp)}</span></p>
      {row.dialect === "pattern" ? <PatternPicture row={row} /> : value ? <LiveReason answer={value} /> : <Waiting failure={failure} />}
    </Drawer>
  );
};

/// A finding is a part of the graph: its picture as of now, or why the pattern does not match any more.
const PatternPicture = ({ row }: { row: ReportRow }) => {
  const focus = [row.object.kind, row.object.namespace, row.object.name].filter(Boolean).join("/");
  const query = new URLSearchParams({ pattern: row.policy, focus, standalone: "true" });
  const { value, failure } = useAnswer((signal) => get<GraphAnswer>(`graph?${query}`, signal), [row.id]);
  if (!value) return <Waiting failure={failure} />;
  return (
    <>
      <Picture svg={value.svg} label={`${row.policy} on ${focus}`} />
      {value.whyNot && <TraceTree label="why the pattern does not match now" trace={{ rule: row.policy, file: "", line: 0, ...row.object, inScope: true, status: "skip", message: "", trace: value.whyNot }} />}
    </>
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
