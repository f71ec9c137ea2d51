// What the list of outcomes shows: the answer of the engine by object, the cause first.
import type { JudgedObject, Outcome, Trace, TraceNode, TryAnswer } from "./api";
import type { PlacePair } from "./session";

export type RowStatus = "fail" | "error" | "warn" | "patched" | "pass" | "skip" | "aside";

export interface OutcomeRow {
  key: string; status: RowStatus; rule: string; reason: string; help: string; message: string;
  isNearly: boolean; refuses: boolean; trace: Trace | null; outcome: Outcome | null; cause: PlacePair | null;
}
export interface ObjectGroup { key: string; title: string; object: JudgedObject; rows: OutcomeRow[] }

export const glyphs: Record<RowStatus, string> = { fail: "✗", error: "!", warn: "⚠", patched: "~", pass: "✓", skip: "·", aside: "·" };
export const statusWords: Record<RowStatus, string> = {
  fail: "fail", error: "error", warn: "warning", patched: "changed", pass: "pass", skip: "skip", aside: "out of scope",
};
export const verdictGlyphs: Record<string, string> = { yes: "✓", no: "✗", error: "!", done: "→", "not looked at": "·" };

const order: RowStatus[] = ["fail", "error", "warn", "patched", "pass", "skip", "aside"];

export const isLoud = (row: OutcomeRow): boolean => row.isNearly || ["fail", "error", "warn", "patched"].includes(row.status);

const rank = (row: OutcomeRow): number => row.isNearly && !["fail", "error"].includes(row.status) ? 2.5 : order.indexOf(row.status);

const objectKey = (of: { file: string; line: number; kind: string; namespace: string; name: string }): string =>
  [of.file, of.line, of.kind, of.namespace, of.name].join("\u0000");

/// One group for each object, in the order of the files.
export const groupsOf = (answer: TryAnswer): ObjectGroup[] => {
  const traces = new Map<string, Trace[]>();
  for (const trace of answer.traces) {
    const key = objectKey(trace);
    const list = traces.get(key);
    if (list) list.push(trace); else traces.set(key, [trace]);
  }
  return answer.objects.map((object) => {
    const key = objectKey(object);
    const left = [...traces.get(key) ?? []];
    const rows = object.outcomes.map((outcome, at) => {
      const place = left.findIndex((trace) => trace.rule === outcome.rule);
      return rowOf(`${key}\u0000${at}`, outcome, place < 0 ? null : left.splice(place, 1)[0] ?? null);
    });
    for (const trace of left) rows.push(rowOf(`${key}\u0000${trace.rule}`, null, trace));
    rows.sort((one, other) => rank(one) - rank(other));
    return { key, title: [object.kind, [object.namespace, object.name].filter(Boolean).join("/")].join(" "), object, rows };
  });
};

const rowOf = (key: string, outcome: Outcome | null, trace: Trace | null): OutcomeRow => {
  const message = outcome?.message || trace?.message || "";
  const status = statusOf(outcome, trace);
  const changes = outcome?.patch.length ?? 0;
  const reason = trace?.reason?.text || outcome?.reason || message || (status === "patched" ? `${changes} ${changes === 1 ? "change" : "changes"}` : "");
  return {
    key, status, rule: outcome?.rule ?? trace?.rule ?? "", message, reason, help: trace?.reason?.help || helpOf(trace), isNearly: trace?.nearly ?? false,
    refuses: outcome?.refuses ?? trace?.refuses ?? false, trace, outcome, cause: causeOf(outcome, trace),
  };
};

const statusOf = (outcome: Outcome | null, trace: Trace | null): RowStatus => {
  if (outcome) return outcome.status === "pass" && outcome.patch.length > 0 ? "patched" : outcome.status;
  if (trace?.inScope) return trace.status;
  return "aside";
};

/// The part of the rule and of the object that decided, or the places of the outcome itself.
const causeOf = (outcome: Outcome | null, trace: Trace | null): PlacePair | null => {
  const node = trace ? decisive(trace.trace) : null;
  if (node) return pairOf(node, trace);
  const ruleLine = outcome?.ruleLine ?? trace?.ruleLine ?? null;
  const ruleFile = outcome?.ruleFile ?? trace?.ruleFile ?? null;
  const file = outcome?.file ?? trace?.file ?? null;
  if (!ruleLine && !file) return null;
  return { ruleFile, ruleLine, objectFile: file, objectLine: trace?.pathLine ?? outcome?.line ?? trace?.line ?? null, what: "", found: "", wanted: "", ruleNote: "", objectNote: "" };
};

const helpOf = (trace: Trace | null): string => (trace ? decisive(trace.trace)?.help : "") ?? "";

const isWrong = (node: TraceNode): boolean => node.verdict === "no" || node.verdict === "error";

/// The last condition that was not met, followed into its first part that was not met. A part of an expression wants nothing by
/// itself, but the expression does.
const decisive = (nodes: TraceNode[]): TraceNode | null => {
  const node = nodes.findLast(isWrong);
  if (!node) return null;
  let at = node;
  for (;;) {
    const deeper: TraceNode | undefined = at.children.find(isWrong);
    if (!deeper || deeper.ruleLine === null) return at;
    at = deeper.wanted === "" ? { ...deeper, wanted: at.wanted } : deeper;
  }
};

/// Whether what was found is told in words, and is no value.
export const isTold = (found: string): boolean => /^[a-z]+ [a-z]/.test(found);

/// The places of a node; where it has none in the object, that is the object itself. Each has a note about the other: the rule what was found, the object what was wanted.
export const pairOf = (node: TraceNode, trace: Trace | null): PlacePair => ({
  ruleFile: node.ruleFile, ruleLine: node.ruleLine, objectFile: node.objectFile ?? (trace?.file || null), objectLine: node.objectLine ?? (node.objectFile ? null : trace?.line || null),
  what: node.what, found: node.found, wanted: node.wanted,
  ruleNote: isWrong(node) ? shortened(node.found === "" ? "not met" : isTold(node.found) ? node.found : `found ${node.found}`) : "",
  objectNote: isWrong(node) && node.wanted !== "" ? shortened(node.wanted) : "",
});

const MAX_NOTE_CHARACTERS = 60;
const shortened = (text: string): string => text.length > MAX_NOTE_CHARACTERS ? `${text.slice(0, MAX_NOTE_CHARACTERS)}…` : text;

/// The row that explains most: what fails, else what warns, else why nothing applies. None where rules do what they are for.
export const leadOf = (groups: ObjectGroup[]): OutcomeRow | null => {
  const rows = groups.flatMap((group) => group.rows);
  const first = (test: (row: OutcomeRow) => boolean): OutcomeRow | undefined => rows.find(test);
  const wrong = first((row) => row.status === "fail" || row.status === "error") ?? first((row) => row.status === "warn");
  if (wrong) return wrong;
  if (rows.some((row) => row.status === "pass" || row.status === "patched")) return null;
  return first((row) => row.isNearly) ?? first((row) => row.status === "skip") ?? rows[0] ?? null;
};

export const placeText = (file: string | null | undefined, line: number | null | undefined): string => file ? (line ? `${file}:${line}` : file) : "";
