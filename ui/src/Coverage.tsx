// Runs the tests of the project and shows, on the text of each rule, what no case exercised.
import { useMemo, useState } from "preact/hooks";
import { type Diagnostic, messageOf, post } from "./api";
import { CodeLines, type CodeMark } from "./CodeLines";

interface TestResult { file: string; case: string; rule: string | null; kind: string; namespace: string; resource: string; expected: string; actual: string; ok: boolean; message: string; placeFile?: string; placeLine?: number }
interface MissingPart { rule: string; place: string; branch?: string }
interface CoverageLine { file: string; line: number; branch?: string | null; reached: boolean }
interface TestAnswer {
  results: TestResult[];
  summary: { passed: number; failed: number };
  coverage: CoverageLine[];
  coverageSummary?: { rules: number; exercised: number; branches: number; branchesExercised: number; percent: number; missing: MissingPart[]; missingBranches: MissingPart[] };
  texts: { name: string; text: string }[];
  diagnostics: Diagnostic[];
  failure: string | null;
}

const MAX_RESULTS = 500;

export const Coverage = () => {
  const [answer, setAnswer] = useState<TestAnswer | null>(null);
  const [failure, setFailure] = useState("");
  const [isRunning, setIsRunning] = useState(false);
  const run = async (): Promise<void> => {
    setIsRunning(true);
    try {
      setAnswer(await post<TestAnswer>("test", { coverage: true }));
      setFailure("");
    } catch (error) {
      setFailure(messageOf(error));
    }
    setIsRunning(false);
  };
  return (
    <main class="coverage">
      <div class="bar pad">
        <button class="primary" disabled={isRunning} onClick={() => { void run(); }}>{isRunning ? "running…" : "run the tests"}</button>
        <span role="status" aria-live="polite">{answer && <TestSummary answer={answer} />}</span>
      </div>
      {failure !== "" && <p class="failure" role="alert">{failure}</p>}
      {!answer && failure === "" && <p class="empty">Runs every test of the project, then shows the rules and the branches of rules that no case exercised, on their own text.</p>}
      {answer?.failure && <p class="failure" role="alert">{answer.failure}</p>}
      {answer && answer.diagnostics.length > 0 && <Mistakes diagnostics={answer.diagnostics} />}
      {answer && <Failed results={answer.results} />}
      {answer && (answer.coverage.length > 0 ? <Rules answer={answer} />
        : <p class="empty">No test of this project has a rule to exercise. Tests are files named kubewright-test.yaml or kyverno-test.yaml below or beside the rules, or where <code>tests</code> of kubewright.yaml says.</p>)}
    </main>
  );
};

const TestSummary = ({ answer }: { answer: TestAnswer }) => {
  const parts = answer.coverageSummary;
  const reached = answer.coverage.filter((one) => one.reached).length;
  return (
    <>
      <span class={`count s-${answer.summary.passed > 0 ? "pass" : "skip"}`}>{answer.summary.passed > 0 ? "✓" : "·"} {answer.summary.passed} passed</span> {answer.summary.failed > 0 && <span class="count s-fail">✗ {answer.summary.failed} failed</span>}{" "}
      <span class="dim">{parts ? `${parts.exercised} of ${parts.rules} rules and ${parts.branchesExercised} of ${parts.branches} branches exercised` : `${reached} of ${answer.coverage.length} lines exercised`}</span>
    </>
  );
};

const Mistakes = ({ diagnostics }: { diagnostics: Diagnostic[] }) => (
  <section class="group"><h3>Mistakes in the tests</h3>
    <ul class="rows">{diagnostics.slice(0, MAX_RESULTS).map((one, at) => (
      <li key={at} class={`row s-${one.severity === "error" ? "fail" : "warn"}`}><span class="glyph" role="img" aria-label={one.severity}>{one.severity === "error" ? "✗" : "⚠"}</span><div>
        <p class="reason">{one.message}</p>
        {one.help !== "" && <p class="help">{one.help}</p>}
        <p class="rule">{one.file}:{one.line}</p>
      </div></li>
    ))}</ul>
  </section>
);

const Failed = ({ results }: { results: TestResult[] }) => {
  const failed = results.filter((one) => !one.ok);
  return failed.length === 0 ? null : (
    <section class="group"><h3>Failed cases</h3>
      <ul class="rows">{failed.slice(0, MAX_RESULTS).map((one, at) => (
        <li key={at} class="row s-fail"><span class="glyph" role="img" aria-label="failed">✗</span><div>
          <p class="reason">expected {one.expected}, got {one.actual}</p>
          {one.message !== "" && <p class="help">{one.message}</p>}
          <p class="rule">{one.rule ?? one.case} on {one.kind} {[one.namespace, one.resource].filter(Boolean).join("/")} · {one.placeFile ? `${one.placeFile}:${one.placeLine ?? 1}` : one.file}</p>
        </div></li>
      ))}</ul>
    </section>
  );
};

const Rules = ({ answer }: { answer: TestAnswer }) => {
  const [isAll, setIsAll] = useState(false);
  const missed = useMemo(() => new Set(answer.coverage.filter((one) => !one.reached).map((one) => one.file)), [answer]);
  const texts = answer.texts.filter((text) => isAll || missed.has(text.name));
  const marksOf = (name: string): Map<number, CodeMark> => new Map(answer.coverage.filter((one) => one.file === name)
    .sort((one, other) => Number(other.reached) - Number(one.reached))
    .map((one): [number, CodeMark] => [one.line, one.reached ? { class: "line-reached", note: "" } : { class: "line-missed", note: one.branch ? `not exercised: ${one.branch}` : "not exercised" }]));
  return (
    <section class="group">
      <h3>{missed.size === 0 ? "Every rule and every branch was exercised" : "Not exercised"}</h3>
      <label class="check"><input type="checkbox" checked={isAll} onChange={(event) => setIsAll(event.currentTarget.checked)} /> also files in which everything was exercised</label>
      {texts.map((text) => <details key={text.name} open={missed.has(text.name)}><summary>{text.name} <span class="dim">{answer.coverage.filter((one) => one.file === text.name && !one.reached).length || "nothing"} not exercised</span></summary>
        <CodeLines text={text.text} marks={marksOf(text.name)} label={text.name} /></details>)}
    </section>
  );
};
