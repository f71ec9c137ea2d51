// The list of outcomes: summary, then each object with what its rules say, the cause first.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Diagnostic, TryAnswer } from "./api";
import { DiffView } from "./DiffView";
import { Picture } from "./Picture";
import { TraceTree } from "./TraceTree";
import { type ObjectGroup, type OutcomeRow, glyphs, groupsOf, isLoud, isTold, leadOf, placeText, statusWords } from "./rows";
import { type PlacePair, session } from "./session";
import { useStore } from "./store";

const MAX_GROUPS_AT_FIRST = 40;
const MAX_QUIET_ROWS = 6;
const MAX_FINDINGS = 100;

export const Outcomes = ({ answer, explain }: { answer: TryAnswer; explain: (code: string) => void }) => {
  const groups = useMemo(() => groupsOf(answer), [answer]);
  const [chosen, setChosen] = useState<string | null>(null);
  const [isAll, setIsAll] = useState(false);
  const lead = useMemo(() => leadOf(groups), [groups]);
  const keys = useMemo(() => new Set(groups.flatMap((group) => group.rows.map((row) => row.key))), [groups]);
  const open = chosen !== null && (chosen === "" || keys.has(chosen)) ? chosen : lead?.key ?? "";
  const openRow = useMemo(() => groups.flatMap((group) => group.rows).find((row) => row.key === open) ?? null, [groups, open]);
  useEffect(() => session.set({ cause: openRow?.cause ?? null }), [openRow]);
  const sorted = useMemo(() => [...groups].sort((one, other) => loudness(one) - loudness(other)), [groups]);
  const shown = isAll ? sorted : sorted.slice(0, MAX_GROUPS_AT_FIRST);
  const problems = answer.diagnostics.filter((one) => one.severity !== "hint");
  return (
    <div class="outcomes">
      {problems.length > 0 && <Problems problems={problems} explain={explain} />}
      {answer.pictures.map((picture, at) => <figure key={at} class="finding-picture"><figcaption>{picture.title}</figcaption><Picture svg={picture.svg} label={picture.title} /></figure>)}
      <Findings answer={answer} />
      {answer.rendered && answer.rendered.diff !== "" && <section class="group"><h3>Rendered manifests</h3><DiffView text={answer.rendered.diff} /></section>}
      {shown.map((group) => <Group key={group.key} group={group} open={open} choose={(key) => setChosen(key === open ? "" : key)} />)}
      {sorted.length > shown.length && <button class="more" onClick={() => setIsAll(true)}>{sorted.length - shown.length} more objects</button>}
      {answer.truncated && <p class="dim">More rules were judged than can be traced at once: some rows have no trace.</p>}
      {groups.length === 0 && problems.length === 0 && !answer.rendered && answer.findings.length === 0 && answer.pictures.length === 0
        && <p class="empty">Nothing to judge yet. Put rules on the left and objects in the middle, or open an example.</p>}
    </div>
  );
};

const loudness = (group: ObjectGroup): number => group.rows.some((row) => row.status === "fail" || row.status === "error") ? 0 : group.rows.some(isLoud) ? 1 : 2;

const Findings = ({ answer }: { answer: TryAnswer }) => answer.findings.length === 0 ? null : (
  <section class="group">
    <h3>{answer.findings.length === 1 ? "1 finding" : `${answer.findings.length} findings`}</h3>
    <ul class="rows">{answer.findings.slice(0, MAX_FINDINGS).map((finding, at) => {
      const first = finding.resources?.find((resource) => resource.file && resource.line);
      return (
        <li key={at} class="row s-warn" onMouseEnter={() => { if (first) pointAt({ file: first.file!, line: first.line! }); }} onMouseLeave={() => session.set({ pointed: null })}>
          <span class="glyph" role="img" aria-label="finding">⚠</span>
          <div>
            <p class="reason">{finding.message ?? ""}</p>
            {finding.reasons?.map((reason, place) => <p key={place} class="rule">{reason}</p>)}
            <p class="rule">{finding.pattern ?? ""} <span class="dim">{finding.severity ?? ""}</span> {first && <button class="link" onClick={() => pointAt({ file: first.file!, line: first.line! })}>{placeText(first.file, first.line)}</button>}</p>
          </div>
        </li>
      );
    })}</ul>
  </section>
);

const Problems = ({ problems, explain }: { problems: Diagnostic[]; explain: (code: string) => void }) => (
  <section class="group problems">
    <h3>{problems.length === 1 ? "1 problem in the texts" : `${problems.length} problems in the texts`}</h3>
    <ul class="rows">{problems.slice(0, 50).map((one, at) => (
      <li key={at} class={`row s-${one.severity === "error" ? "fail" : "warn"}`} onMouseEnter={() => pointAt(one)} onMouseLeave={() => session.set({ pointed: null })}>
        <span class="glyph" role="img" aria-label={one.severity}>{one.severity === "error" ? "✗" : "⚠"}</span>
        <div>
          <p class="reason">{one.message}</p>
          {one.help !== "" && <p class="help">{one.help}</p>}
          <p class="rule"><button class="link" onClick={() => pointAt(one)}>{placeText(one.file, one.line)}</button>
            {one.code !== "" && <button class="link" onClick={() => explain(one.code)}>explain {one.code}</button>}</p>
        </div>
      </li>
    ))}</ul>
  </section>
);

/// Marks one line; which of the two editors has it follows from the file.
const pointAt = (one: { file: string; line: number }): void => {
  const isRule = session.get().files.some((file) => file.name === one.file && (file.role === "rules" || file.role === "exceptions"));
  const pair: PlacePair = { ruleFile: null, ruleLine: null, objectFile: null, objectLine: null, what: "", found: "", wanted: "", ruleNote: "", objectNote: "" };
  session.set({ pointed: isRule ? { ...pair, ruleFile: one.file, ruleLine: one.line } : { ...pair, objectFile: one.file, objectLine: one.line } });
};

const Group = ({ group, open, choose }: { group: ObjectGroup; open: string; choose: (key: string) => void }) => {
  const [isWhole, setIsWhole] = useState(false);
  const loud = group.rows.filter(isLoud);
  const quiet = group.rows.filter((row) => !isLoud(row) && row.key !== open);
  const first = group.rows.filter((row) => isLoud(row) || row.key === open);
  const judged = quiet.filter((row) => row.status !== "aside");
  const direct = loud.length + judged.length <= MAX_QUIET_ROWS ? judged : [];
  const folded = quiet.filter((row) => !direct.includes(row));
  const rows = [...first, ...(isWhole ? quiet : direct)];
  const { object } = group;
  const more = object.more ?? {};
  const text = quietText(folded, more);
  return (
    <section class="group">
      <h3>
        <button class="link object" title={placeText(object.file, object.line)} onClick={() => pointAt(object)}>{group.title}</button>
        {!object.allowed && <span class="verdict refused">refused</span>}
        {object.patch.length > 0 && <span class="verdict changed">changed</span>}
      </h3>
      <ul class="rows">{rows.map((row) => <Row key={row.key} row={row} isOpen={row.key === open} choose={choose} />)}</ul>
      {folded.length > 0 && <button class="more" aria-expanded={isWhole} onClick={() => setIsWhole(!isWhole)}>{isWhole ? "fewer" : text}</button>}
      {folded.length === 0 && text !== "" && <p class="more-text">{text}</p>}
      {object.diff ? <details class="diff" open={!group.rows.some((row) => row.status === "fail" || row.status === "error") || group.rows.some((row) => row.status === "patched")}><summary>what changes</summary><DiffView text={object.diff} /></details> : null}
    </section>
  );
};

const quietText = (rows: OutcomeRow[], more: { pass?: number; skip?: number }): string => {
  const count = (status: string): number => rows.filter((row) => row.status === status).length;
  const parts: [number, string][] = [[count("pass") + (more.pass ?? 0), "✓ pass"], [count("skip") + (more.skip ?? 0), "· skip"], [count("aside"), "out of scope"]];
  return parts.filter(([many]) => many > 0).map(([many, word]) => `${many} ${word}`).join(", ");
};

const Row = ({ row, isOpen, choose }: { row: OutcomeRow; isOpen: boolean; choose: (key: string) => void }) => {
  const cursor = useStore(session, (value) => value.cursor);
  const isUsed = !isOpen && cursor !== null && row.cause?.ruleFile === cursor.file && row.cause.ruleLine === cursor.line;
  const reason = row.reason || (row.status === "pass" ? "" : statusWords[row.status]);
  return (
    <li class={`row s-${row.status} ${isOpen ? "open" : ""} ${isUsed ? "used" : ""}`}
      onMouseEnter={() => { if (!isOpen) session.set({ pointed: row.cause }); }} onMouseLeave={() => session.set({ pointed: null })}>
      <span class="glyph" role="img" aria-label={statusWords[row.status]}>{glyphs[row.status]}</span>
      <div>
        <button class="head" aria-expanded={isOpen} onClick={() => choose(row.key)}>
          {reason !== "" && <span class="reason">{reason}</span>}
          <span class="rule">{row.rule} <span class="dim">{row.isNearly ? "nearly applied" : statusWords[row.status]}{row.refuses ? ", refuses the object" : ""}</span></span>
        </button>
        {isOpen && <Details row={row} />}
      </div>
    </li>
  );
};

const Details = ({ row }: { row: OutcomeRow }) => (
  <div class="details">
    {row.help !== "" && <p class="help">{row.help}</p>}
    {row.cause && <Cause cause={row.cause} />}
    {row.trace && row.trace.trace.length > 0 && <TraceTree trace={row.trace} label={`trace of ${row.rule}`} />}
    {row.message !== "" && row.message !== row.reason && <p class="message"><span class="dim">message</span> {row.message}</p>}
    {row.outcome?.exceptions && row.outcome.exceptions.length > 0 && <p class="dim">exceptions: {row.outcome.exceptions.join(", ")}</p>}
  </div>
);

const foundWords = ({ what, found }: PlacePair) => {
  if (what === "") return found === "" ? "the object" : <code>{found}</code>;
  if (isTold(found)) return <><code>{what}</code>: {found}</>;
  return <><code>{what}</code> {found === "" ? "" : <>is <code>{found}</code></>}</>;
};

/// Both places in words: what the object has, and what the rule wants.
const Cause = ({ cause }: { cause: PlacePair }) => (
  <dl class="cause">
    {cause.objectFile && <><dt>{placeText(cause.objectFile, cause.objectLine)}</dt><dd>{foundWords(cause)}</dd></>}
    {cause.ruleFile && cause.ruleLine && <><dt>{placeText(cause.ruleFile, cause.ruleLine)}</dt><dd>{cause.wanted || (cause.what === "" || isTold(cause.found) ? "the rule" : "not met")}</dd></>}
  </dl>
);
