// Rules, objects, outcome: three columns of which each explains the other two.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Role, TextFile } from "./api";
import { EditorPane } from "./EditorPane";
import { Outcomes } from "./Outcomes";
import type { LineMark } from "./editor";
import { type PanelName, sharedText } from "./panels";
import { download } from "./Drawer";
import { type PlacePair, changeRequest, edit, filesOf, session } from "./session";
import { useStore } from "./store";

const operations = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

export const Try = ({ openPanel }: { openPanel: (panel: PanelName) => void }) => {
  const explain = (code: string): void => openPanel({ kind: "explain", code });
  return (
    <main class="try">
      <Column side="rule" title="Rules" roles={["rules", "exceptions"]} explain={explain} />
      <Column side="object" title="Objects" roles={["objects", "world", "old", "user", "parameters"]} explain={explain} />
      <OutcomeColumn openPanel={openPanel} explain={explain} />
    </main>
  );
};

const tabWords: Record<Role, string> = {
  rules: "rules", exceptions: "exceptions", objects: "objects", world: "world", old: "old object", user: "user", parameters: "parameters",
};
const tabHelp: Partial<Record<Role, string>> = {
  exceptions: "PolicyExceptions, if there are any.",
  world: "What rules look up: Namespaces, ConfigMaps and other objects of the cluster, and answers of APIs.",
  old: "The object before an update. Choose the operation UPDATE to use it.",
  user: "Who makes the request, as YAML: username, groups, roles, clusterRoles.",
  parameters: "Parameters of traits, or values of variables.",
};

const Column = ({ side, title, roles, explain }: { side: "rule" | "object"; title: string; roles: Role[]; explain: (code: string) => void }) => {
  const files = useStore(session, (value) => value.files);
  const loaded = useStore(session, (value) => value.loaded);
  const answer = useStore(session, (value) => value.answer);
  const cause = useStore(session, (value) => value.cause);
  const pointed = useStore(session, (value) => value.pointed);
  const shown = useMemo(() => roles.flatMap((role) => filesOf(files, role)), [files]);
  const [active, setActive] = useState("");
  const file = shown.find((one) => one.name === active) ?? shown[0]!;
  const target = placeOf(pointed, side) ?? placeOf(cause, side);

  useEffect(() => { setActive(""); }, [loaded]);
  useEffect(() => { if (target && shown.some((one) => one.name === target.file)) setActive(target.file); }, [target?.file, target?.line]);

  const marks = useMemo(() => marksOf(file, side, cause, pointed, answer?.coverage ?? []), [file.name, cause, pointed, answer]);
  const diagnostics = useMemo(() => answer?.diagnostics.filter((one) => one.file === file.name) ?? [], [answer, file.name]);
  return (
    <section class={`column ${side}`} aria-label={title}>
      <FileTabs files={shown} roles={roles} active={file} title={title} choose={setActive} />
      {side === "object" && <RequestBar />}
      {tabHelp[file.role] && file.text.trim() === "" && <p class="tab-help">{tabHelp[file.role]}</p>}
      <EditorPane name={file.name} text={file.text} label={`${tabWords[file.role]}: ${file.name}`} loaded={loaded} marks={marks} diagnostics={diagnostics}
        revealed={target?.file === file.name ? target.line : 0} onChange={(text) => edit(file.name, file.role, text)}
        onCursor={(line) => { if (side === "rule") session.set({ cursor: { file: file.name, line } }); }} onExplain={explain} />
    </section>
  );
};

const placeOf = (pair: PlacePair | null, side: "rule" | "object"): { file: string; line: number } | null => {
  const [file, line] = side === "rule" ? [pair?.ruleFile, pair?.ruleLine] : [pair?.objectFile, pair?.objectLine];
  return file && line ? { file, line } : null;
};

const marksOf = (file: TextFile, side: "rule" | "object", cause: PlacePair | null, pointed: PlacePair | null, coverage: { file: string; line: number; reached: boolean }[]): LineMark[] => {
  const marks: LineMark[] = side === "rule"
    ? unreached(file, coverage).map((line) => ({ line, class: "line-unreached", note: "" })) : [];
  const add = (pair: PlacePair | null, style: string): void => {
    const place = placeOf(pair, side);
    if (pair && place?.file === file.name) marks.push({ line: place.line, class: style, note: side === "rule" ? pair.ruleNote : pair.objectNote });
  };
  if (pointed) add(pointed, "line-pointed");
  if (!pointed || placeOf(pointed, side)?.line !== placeOf(cause, side)?.line) add(cause, "line-cause");
  return marks;
};

/// The lines of rules and branches that no object reached: each with what is indented below it, but for lines that were reached. A rule
/// that is a document of its own goes to the end of the document.
const unreached = (file: TextFile, coverage: { file: string; line: number; reached: boolean }[]): number[] => {
  const mine = coverage.filter((one) => one.file === file.name);
  const reached = new Set(mine.filter((one) => one.reached).map((one) => one.line));
  const lines = file.text.split("\n");
  const indent = (line: string): number => /^ */.exec(line)![0].length;
  const found = new Set<number>();
  for (const { line } of mine.filter((one) => !one.reached)) {
    found.add(line);
    const own = indent(lines[line - 1] ?? "");
    const isPart = (text: string): boolean => text.trim() !== "" && (own === 0 ? !text.startsWith("---") : indent(text) > own);
    for (let at = line; at < lines.length && isPart(lines[at]!); at += 1) if (!reached.has(at + 1)) found.add(at + 1);
  }
  return [...found].sort((one, other) => one - other);
};

const FileTabs = ({ files, roles, active, title, choose }: { files: TextFile[]; roles: Role[]; active: TextFile; title: string; choose: (name: string) => void }) => {
  const move = (event: KeyboardEvent): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    const next = files[(files.indexOf(active) + step + files.length) % files.length];
    if (step === 0 || !next) return;
    event.preventDefault();
    choose(next.name);
    (event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")[files.indexOf(next)]?.focus();
  };
  if (files.length > roles.length + 4) {
    return (
      <div class="tabs"><label class="file-choice">{title} <select value={active.name} onChange={(event) => choose(event.currentTarget.value)}>
        {roles.map((role) => <optgroup key={role} label={tabWords[role]}>{files.filter((file) => file.role === role).map((file) => <option key={file.name} value={file.name}>{file.name}</option>)}</optgroup>)}
      </select></label></div>
    );
  }
  return (
    <div class="tabs" role="tablist" aria-label={title} onKeyDown={move}>
      {files.map((file) => (
        <button key={file.name} role="tab" aria-selected={file === active} tabIndex={file === active ? 0 : -1} class={file.text.trim() === "" ? "blank" : ""}
          title={file.name} onClick={() => choose(file.name)}>{files.filter((one) => one.role === file.role).length > 1 ? file.name : tabWords[file.role]}</button>
      ))}
    </div>
  );
};

const RequestBar = () => {
  const request = useStore(session, (value) => value.request);
  return (
    <div class="request">
      <label>operation <select value={request.operation ?? ""} onChange={(event) => changeRequest({ operation: event.currentTarget.value })}>
        <option value="">as usual</option>{operations.map((one) => <option key={one}>{one}</option>)}
      </select></label>
      <label>namespace <input value={request.namespace ?? ""} placeholder="of the object" onInput={(event) => changeRequest({ namespace: event.currentTarget.value })} /></label>
    </div>
  );
};

const OutcomeColumn = ({ openPanel, explain }: { openPanel: (panel: PanelName) => void; explain: (code: string) => void }) => {
  const answer = useStore(session, (value) => value.answer);
  const judged = useStore(session, (value) => value.judged);
  const isPending = useStore(session, (value) => value.isPending);
  const failure = useStore(session, (value) => value.failure);
  // For measurements: when the browser has drawn an outcome.
  useEffect(() => { if (judged > 0) performance.mark("outcome-shown"); }, [judged]);
  const problem = failure || answer?.failure || "";
  const hasChanges = answer?.objects.some((object) => object.diff) || answer?.rendered;
  const hasFailures = (answer?.summary.fail ?? 0) + (answer?.summary.error ?? 0) > 0;
  // Patterns and traits have no cases of their own.
  const isTestable = answer?.languages.some((language) => language !== "pattern" && language !== "trait") && answer.summary.objects > 0;
  return (
    <section class="column outcome" aria-label="Outcome" data-judged={judged} data-pending={isPending}>
      <div class="summary" role="status" aria-live="polite">{answer ? <SummaryLine /> : <span class="dim">{failure === "" ? "judging…" : ""}</span>}</div>
      <div class="actions">
        <button disabled={!hasFailures} onClick={() => openPanel({ kind: "fix" })}>fix</button>
        <button disabled={!hasChanges} onClick={() => openPanel({ kind: "diff" })}>diff</button>
        <button disabled={!isTestable} title={isTestable ? "" : "Tests are made of rules that judge objects; there are none yet."} onClick={() => openPanel({ kind: "test" })}>as a test</button>
        <button disabled={!answer?.languages.includes("kyverno")} onClick={() => openPanel({ kind: "convert" })}>convert to CEL</button>
        <button onClick={() => openPanel({ kind: "json" })}>JSON</button>
        <button onClick={() => download("shared.json", sharedText(), "application/json")}>download</button>
      </div>
      <div class="scroll" tabIndex={-1}>
        {problem !== "" && <p class="failure" role="alert">{problem}</p>}
        {answer && failure !== "" && <p class="tab-help">What follows is about the texts as they were before.</p>}
        {answer && <Outcomes answer={answer} explain={explain} />}
      </div>
    </section>
  );
};

const SummaryLine = () => {
  const answer = useStore(session, (value) => value.answer)!;
  const { summary, findings, languages, elapsedMicros, rendered } = answer;
  const errors = answer.diagnostics.filter((one) => one.severity === "error").length;
  const parts: [string, number, string, string][] = [
    ["fail", summary.fail, "✗", "fail"], ["error", summary.error, "!", "error"], ["warn", summary.warn, "⚠", "warning"], ["patched", summary.patched, "~", "changed"],
    ["patched", rendered ? 1 : 0, "~", "rendering"], ["pass", summary.pass - summary.patched, "✓", "pass"], ["skip", summary.skip, "·", "skip"], ["warn", findings.length, "⚠", findings.length === 1 ? "finding" : "findings"],
  ];
  const shown = parts.filter(([, count]) => count > 0);
  return (
    <>
      {shown.length === 0 && errors > 0 && <span class="count s-fail"><span aria-hidden="true">✗ </span>not judged: {errors === 1 ? "1 mistake" : `${errors} mistakes`} in the texts</span>}
      {shown.length === 0 && errors === 0 && <span class="count s-skip">{summary.objects === 0 ? "no object" : "no rule applies"}</span>}
      {shown.map(([status, count, glyph, word], at) => <span key={at} class={`count s-${status}`}><span aria-hidden="true">{glyph} </span>{count} {word}</span>)}
      <span class="dim">{languages.join(", ")}</span>
      <span class="dim elapsed" aria-hidden="true">{(elapsedMicros / 1000).toFixed(1)} ms</span>
    </>
  );
};
