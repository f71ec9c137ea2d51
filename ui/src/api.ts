// What the server under `api/v1` takes and answers. The names are those of the command line's JSON.

export type Role = "rules" | "objects" | "exceptions" | "world" | "old" | "parameters" | "user";
export type Status = "pass" | "fail" | "warn" | "error" | "skip";
export type Verdict = "yes" | "no" | "error" | "done" | "not looked at";

export interface TextFile { name: string; role: Role; text: string }
export interface ReviewRequest { operation?: string; namespace?: string }

export interface About {
  version: string;
  mode: "files" | "cluster";
  features: Partial<Record<"try" | "graph" | "reports" | "impact" | "project" | "tests" | "save" | "shared" | "graphOfInput", boolean>>;
  project: { name: string; folder: string } | null;
  cluster: { context: string; server: string } | null;
  limits: { bodyBytes: number };
  patterns?: string[];
  /// In the controller: nothing is answered but GET.
  readOnly?: boolean;
}

export interface Outcome {
  rule: string; dialect: string; policy: string; name: string; status: Status; message: string; path: string;
  ruleFile: string; ruleLine: number; ruleColumn: number; file: string; line: number; patch: unknown[];
  refuses?: boolean; reason?: string; severity?: string; exceptions?: string[];
}

export interface JudgedObject {
  file: string; line: number; apiVersion: string; kind: string; namespace: string; name: string;
  allowed: boolean; patch: unknown[]; outcomes: Outcome[]; diff?: string; after?: string;
  /// Outcomes that are only counted, where there are many.
  more?: { pass?: number; skip?: number };
}

export interface TraceNode {
  what: string; found: string; wanted: string; verdict: Verdict;
  ruleFile: string | null; ruleLine: number | null; ruleColumn: number | null;
  objectFile: string | null; objectLine: number | null; objectColumn: number | null;
  help: string; children: TraceNode[];
}

export interface Trace {
  rule: string; file: string; line: number; kind: string; namespace: string; name: string;
  inScope: boolean; status: Status; message: string; path?: string; pathLine?: number;
  ruleFile?: string; ruleLine?: number; ruleColumn?: number; trace: TraceNode[];
  reason?: { text: string; help: string } | null; refuses?: boolean; nearly?: boolean;
}

export interface Diagnostic {
  code: string; severity: string; message: string; file: string; line: number; column: number; help: string;
  endLine?: number; endColumn?: number;
}

export interface Finding {
  pattern?: string; severity?: string; message?: string; reasons?: string[];
  resources?: { role: string; kind: string; namespace: string; name: string; file?: string; line?: number }[];
  /// In a graph: the boxes it is about, and its number among those of its pattern.
  nodes?: string[]; index?: number;
}

export interface Summary { objects: number; pass: number; fail: number; warn: number; error: number; skip: number; patched: number }

export interface TryAnswer {
  languages: string[];
  summary: Summary;
  objects: JudgedObject[];
  traces: Trace[];
  diagnostics: Diagnostic[];
  coverage: { file: string; line: number; reached: boolean }[];
  rendered: { manifests: string; diff: string; operations: unknown[] } | null;
  findings: Finding[];
  pictures: { title: string; svg: string }[];
  elapsedMicros: number;
  truncated: boolean;
  /// Why nothing could be judged at all.
  failure?: string | null;
  files?: TextFile[];
  differs?: { rule: string; report: string; now: string }[];
}

/// All that the page shows first.
export interface Start { about: About; title: string; files: TextFile[]; request: ReviewRequest; answer: TryAnswer | null }

export interface ExampleRow { id: string; language: string; title: string; description: string; words: string }
export interface Example { id: string; title: string; description: string; files: TextFile[]; request?: ReviewRequest }

export interface FunctionRow { name: string; signature: string; description: string; example: string; result: string }

export interface GraphNode {
  id: string; kind: string; namespace: string; label: string; class: string; badges: unknown[];
  x: number; y: number; width: number; height: number; application: string;
  /// How many objects the box stands for, the ids of some of them, and the key of the application or namespace that a click opens.
  objects?: number; members?: string[]; opens?: string; notes?: string[];
}
export interface GraphAnswer {
  svg: string;
  nodes: GraphNode[];
  edges: { from: string; to: string; type: string; label: string; missing: boolean; types?: string[]; count?: number; via?: string }[];
  applications: { key: string; label: string; objects: number; findings: number }[];
  findings: Finding[];
  legend: { type: string; class?: string; color: string; count: number }[];
  counts: { objects: number; boxes: number; edges: number };
  notes: string[];
  whyNot: TraceNode[] | null;
  diagnostics: Diagnostic[];
}

export interface ReportRow {
  id: string; source: string; policy: string; rule: string; result: string; severity: string; category: string;
  message: string; timestamp: string; owner: string; dialect: string; report: string;
  object: { apiVersion: string; kind: string; namespace: string; name: string; uid: string };
  properties: Record<string, string>;
}
export interface NamespaceCounts { namespace: string; pass: number; fail: number; warn: number; error: number; skip: number }
export interface ReportsAnswer {
  summary: { namespaces: NamespaceCounts[]; total: Omit<NamespaceCounts, "namespace"> };
  rows: ReportRow[];
  facets: Record<string, [string, number][]>;
  total: number;
  version: string;
  notes?: string[];
}

/// What the server answered in place of a result.
export class ApiError extends Error {
  constructor(message: string, readonly status: number, readonly code: string | null) { super(message); }
}

const address = (path: string): string => new URL(`api/v1/${path}`, document.baseURI).href;

const answerOf = async <T>(response: Response): Promise<T> => {
  if (response.ok) return await response.json() as T;
  const body = await response.json().catch(() => null) as { error?: { message?: string; code?: string | null } } | null;
  throw new ApiError(body?.error?.message ?? `the server answered ${response.status}`, response.status, body?.error?.code ?? null);
};

export const get = async <T>(path: string, signal?: AbortSignal): Promise<T> =>
  answerOf<T>(await fetch(address(path), signal ? { signal } : {}));

export const post = async <T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> =>
  answerOf<T>(await fetch(address(path), {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), ...(signal ? { signal } : {}),
  }));

export const addressOf = address;

/// The text of an error for a person.
export const messageOf = (error: unknown): string =>
  error instanceof TypeError ? "the server does not answer; is kubewright ui still running?"
    : error instanceof Error ? error.message : String(error);
