// The controls beside the graph, and the card of a chosen object.
import { useMemo, useState } from "preact/hooks";
import type { Finding, GraphAnswer, GraphNode } from "./api";
import { type GraphOptions, namespaceKey, plainOptions } from "./Graph";
import { TraceTree } from "./TraceTree";
import { session } from "./session";
import { useStore } from "./store";

const MAX_HITS = 40;
const MAX_FINDINGS = 200;

interface GraphSource { text: string | null; setText: (text: string | null) => void; isOwn: boolean; usesOwn: boolean; setIsTexts: (isTexts: boolean) => void }

interface GraphSideProps {
  answer: GraphAnswer | null; options: GraphOptions; change: (part: Partial<GraphOptions>) => void; choose: (node: GraphNode) => void;
  showFinding: (finding: Finding) => void; source: GraphSource; exportAs: (format: "svg" | "png") => void;
}

export const GraphSide = ({ answer, options, change, choose, showFinding, source, exportAs }: GraphSideProps) => {
  const isChanged = JSON.stringify(options) !== JSON.stringify(plainOptions);
  return (
    <aside class="side" aria-label="graph controls">
      <SourceChoice source={source} />
      <Search nodes={answer?.nodes ?? []} choose={choose} />
      <Findings findings={answer?.findings ?? []} showFinding={showFinding} change={change} />
      <Legend answer={answer} options={options} change={change} />
      <Options answer={answer} options={options} change={change} />
      <WhyNot answer={answer} options={options} change={change} />
      {answer && <Notes answer={answer} />}
      <div class="bar">
        <button disabled={!isChanged} onClick={() => change(plainOptions)}>reset</button><span class="spacer" />
        <button disabled={!answer} onClick={() => exportAs("svg")}>SVG</button><button disabled={!answer} onClick={() => exportAs("png")}>PNG</button>
      </div>
    </aside>
  );
};

const SourceChoice = ({ source }: { source: GraphSource }) => {
  const about = useStore(session, (value) => value.about);
  const { text, setText, isOwn, usesOwn, setIsTexts } = source;
  const own = about?.mode === "cluster" ? "the cluster" : "the project";
  const value = usesOwn ? "own" : text === null ? "try" : "paste";
  const choose = (next: string): void => { setIsTexts(next !== "own"); setText(next === "paste" ? "" : null); };
  const open = async (file: File | undefined): Promise<void> => { if (file) { setIsTexts(true); setText(await file.text()); } };
  return (
    <div class="source">
      <label>objects of <select value={value} onChange={(event) => choose(event.currentTarget.value)}>
        {isOwn && <option value="own">{own}</option>}<option value="try">the Try view</option><option value="paste">a dump</option>
      </select></label>
      {value === "paste" && <>
        <textarea aria-label="objects to draw" rows={6} spellcheck={false} placeholder="paste the output of kubectl get … -o yaml" value={text ?? ""} onInput={(event) => setText(event.currentTarget.value)} />
        <label class="file-input">or a file <input type="file" accept=".yaml,.yml,.json" onChange={(event) => { void open(event.currentTarget.files?.[0]); }} /></label>
      </>}
    </div>
  );
};

const Search = ({ nodes, choose }: { nodes: GraphNode[]; choose: (node: GraphNode) => void }) => {
  const [text, setText] = useState("");
  const hits = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return words.length === 0 ? [] : nodes.filter((node) => words.every((word) => `${node.kind} ${node.namespace}/${node.label} ${node.members?.join(" ") ?? ""}`.toLowerCase().includes(word)));
  }, [nodes, text]);
  const press = (event: KeyboardEvent): void => { if (event.key === "Enter" && hits[0]) choose(hits[0]); };
  return (
    <div>
      <input type="search" class="search" aria-label="search objects" placeholder="search, then Enter zooms" value={text} onKeyDown={press} onInput={(event) => setText(event.currentTarget.value)} />
      {text !== "" && <p class="dim" role="status">{hits.length} found</p>}
      <ul class="hits">{hits.slice(0, MAX_HITS).map((node) => <li key={node.id}><button onClick={() => choose(node)}>{node.kind} <strong>{[node.namespace, node.label].filter(Boolean).join("/")}</strong></button></li>)}</ul>
    </div>
  );
};

const severityGlyph = (severity: string): string => /crit|high|error/i.test(severity) ? "✗" : /warn|medium/i.test(severity) ? "⚠" : "·";

const Findings = ({ findings, showFinding, change }: { findings: Finding[]; showFinding: (finding: Finding) => void; change: (part: Partial<GraphOptions>) => void }) => (
  <details open><summary>{findings.length === 1 ? "1 finding" : `${findings.length} findings`}</summary>
    <ul class="hits findings">{findings.slice(0, MAX_FINDINGS).map((finding, at) => {
      const pattern = finding.pattern ?? "";
      const index = typeof finding.index === "number" ? finding.index : findings.slice(0, at).filter((one) => one.pattern === finding.pattern).length;
      return (
        <li key={at}>
          <button onClick={() => showFinding(finding)}><span role="img" aria-label={(finding.severity ?? "").toLowerCase()}>{severityGlyph(finding.severity ?? "")} </span><strong>{pattern}</strong> {finding.message ?? ""}</button>
          <button class="link" onClick={() => change({ pattern, finding: index, near: false })} aria-label={`picture of ${pattern}`}>picture</button>
        </li>
      );
    })}</ul>
  </details>
);

const Options = ({ answer, options, change }: { answer: GraphAnswer | null; options: GraphOptions; change: (part: Partial<GraphOptions>) => void }) => {
  const opened = options.open.filter((key) => key !== "");
  return (
    <details open><summary>view</summary>
      <label class="field">focus <input value={options.focus} placeholder="Kind/namespace/name" onChange={(event) => change({ focus: event.currentTarget.value.trim() })} /></label>
      <label class="field">depth <input type="number" min={1} max={9} value={options.depth} onChange={(event) => change({ depth: Number(event.currentTarget.value) || 2 })} /></label>
      <label class="field">direction <select value={options.direction} onChange={(event) => change({ direction: event.currentTarget.value as GraphOptions["direction"] })}><option>both</option><option>in</option><option>out</option></select></label>
      <label class="check"><input type="checkbox" checked={options.each} onChange={(event) => change({ each: event.currentTarget.checked })} /> every Pod by itself</label>
      <label class="check"><input type="checkbox" checked={options.allEdges} onChange={(event) => change({ allEdges: event.currentTarget.checked })} /> all relations</label>
      <label class="field">applications above <select value={options.appsAbove} onChange={(event) => change({ appsAbove: Number(event.currentTarget.value) })}>
        <option value="0">always</option><option value="150">150 boxes</option><option value="600">600 boxes</option><option value="100000">never</option></select></label>
      {opened.length > 0 && <ul class="hits">{opened.map((key) => <li key={key}><button onClick={() => change({ open: options.open.filter((one) => one !== key) })}>close {answer?.applications.find((one) => one.key === key)?.label ?? key.replace(":", " ")}</button></li>)}</ul>}
    </details>
  );
};

const WhyNot = ({ answer, options, change }: { answer: GraphAnswer | null; options: GraphOptions; change: (part: Partial<GraphOptions>) => void }) => {
  const about = useStore(session, (value) => value.about);
  const patterns = about?.patterns ?? [...new Set(answer?.findings.map((finding) => finding.pattern ?? "") ?? [])];
  return (
    <details open={options.pattern !== ""}><summary>one pattern, and why not</summary>
      <label class="field">pattern <input list="patterns" value={options.pattern} placeholder="all" onChange={(event) => change({ pattern: event.currentTarget.value.trim(), finding: 0 })} /></label>
      <datalist id="patterns">{patterns.map((name) => <option key={name} value={name} />)}</datalist>
      <label class="check"><input type="checkbox" checked={options.near} onChange={(event) => change({ near: event.currentTarget.checked })} /> the nearest miss, of the focus if there is one</label>
      {answer?.whyNot && <TraceTree label="why the pattern does not match" trace={{ rule: options.pattern, file: "", line: 0, kind: "", namespace: "", name: "", inScope: true, status: "skip", message: "", trace: answer.whyNot }} />}
    </details>
  );
};

/// What was left out, and what else is to be said about the picture.
const Notes = ({ answer }: { answer: GraphAnswer }) => {
  const isLeftOut = (note: string): boolean => /left out/i.test(note);
  const about = answer.notes.filter((note) => !isLeftOut(note));
  const leftOut = answer.notes.filter(isLeftOut).map((note) => note.replace(/^Left out: /, "").replace("--all-edges draws them", "“all relations” draws them"));
  leftOut.push(...answer.diagnostics.filter((one) => one.severity !== "error").map((one) => one.message));
  return (
    <>
      {leftOut.length > 0 && <details open><summary>left out</summary><ul class="notes">{leftOut.map((note, at) => <li key={at}>{note}</li>)}</ul></details>}
      {about.length > 0 && <details open><summary>about the picture</summary><ul class="notes">{about.map((note, at) => <li key={at}>{note}</li>)}</ul></details>}
    </>
  );
};

const Legend = ({ answer, options, change }: { answer: GraphAnswer | null; options: GraphOptions; change: (part: Partial<GraphOptions>) => void }) => {
  const rows = answer?.legend ?? [];
  const toggle = (type: string, isOn: boolean): void => {
    const all = options.edges.length > 0 ? options.edges : rows.map((row) => row.type);
    change({ edges: isOn ? [...all, type] : all.filter((one) => one !== type) });
  };
  const hasAbsent = answer?.nodes.some((node) => node.class === "absent") || answer?.edges.some((edge) => edge.missing);
  return rows.length === 0 && !hasAbsent ? null : (
    <details open><summary>relations</summary>
      {rows.map((row) => (
        <label key={row.type} class="check"><input type="checkbox" checked={options.edges.length === 0 || options.edges.includes(row.type)} onChange={(event) => toggle(row.type, event.currentTarget.checked)} />
          <span class={`kw swatch ${row.class ?? ""}`} aria-hidden="true" />{row.type} <span class="dim">{row.count}</span></label>
      ))}
      {hasAbsent && <p class="check"><span class="kw swatch absent" aria-hidden="true" />dashed: expected, but not there</p>}
      {options.edges.length > 0 && <button onClick={() => change({ edges: [] })}>all again</button>}
    </details>
  );
};

interface GraphCardProps {
  node: GraphNode; answer: GraphAnswer; byId: Map<string, GraphNode>; options: GraphOptions; change: (part: Partial<GraphOptions>) => void;
  choose: (node: GraphNode) => void; close: () => void;
}

export const GraphCard = ({ node, answer, byId, options, change, choose, close }: GraphCardProps) => {
  const related = answer.edges.filter((edge) => edge.from === node.id || edge.to === node.id);
  const findings = answer.findings.filter((finding) => finding.nodes?.includes(node.id));
  const what = node.kind === "Namespace" ? "namespace" : "application";
  const closes = [node.application, namespaceKey(node.namespace)].filter((key) => options.open.includes(key));
  return (
    <section class="card" aria-label="chosen object">
      <header><strong>{node.kind} {[node.namespace, node.label].filter(Boolean).join("/")}</strong><button class="quiet" aria-label="close" onClick={close}>✕</button></header>
      <div class="bar">
        {!node.opens && <button onClick={() => change({ focus: node.id })}>focus</button>}
        {node.opens && <button onClick={() => change({ open: [...options.open, node.opens!] })}>open the {what}</button>}
        {closes.map((closed) => <button key={closed} onClick={() => change({ open: options.open.filter((key) => key !== closed) })}>close the {closed === node.application ? "application" : "namespace"}</button>)}
      </div>
      {findings.length === 0 && node.notes?.map((note, at) => <p key={at} class="dim">{note}</p>)}
      {findings.map((finding, at) => <p key={at}>{severityGlyph(finding.severity ?? "")} <strong>{finding.pattern ?? ""}</strong> {finding.message ?? ""}</p>)}
      <ul class="hits">{related.map((edge, at) => {
        const isOut = edge.from === node.id;
        const other = byId.get(isOut ? edge.to : edge.from);
        return other ? <li key={at}><button onClick={() => choose(other)}>{isOut ? "→" : "←"} {edge.missing ? "missing " : ""}{edge.type} <strong>{other.kind} {other.label}</strong> <span class="dim">{edge.via || edge.label}</span></button></li> : null;
      })}</ul>
    </section>
  );
};
