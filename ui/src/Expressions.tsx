// One expression on one input, in each of the languages that rules use, with the functions they know.
import { useEffect, useMemo, useState } from "preact/hooks";
import { type FunctionRow, get, messageOf, post } from "./api";
import { EditorPane } from "./EditorPane";
import { inline } from "./Markdown";
import { Waiting, useAnswer } from "./panels";

type Language = "cel" | "jmespath" | "jsonpath" | "gotemplate";
interface EvalAnswer { result: string; error: { message: string; line?: number; column?: number; length?: number } | null }

const EVAL_PAUSE_MILLIS = 150;
const MAX_ROWS = 400;

const languages: Record<Language, { title: string; start: string; help: string }> = {
  cel: { title: "CEL", start: "object.spec.containers.filter(c, !has(c.resources)).map(c, c.name)", help: "The input is `object`, as in a ValidatingPolicy." },
  jmespath: { title: "JMESPath", start: "spec.containers[].image", help: "As in {{ }} of Kyverno. The input is the root." },
  jsonpath: { title: "JSONPath", start: "$.spec.containers[*].image", help: "As in a ModRule. `$` is the input." },
  gotemplate: { title: "Go template", start: "{{ .Target.metadata.name }}: {{ len .Target.spec.containers }} containers", help: "As in a ModRule. `.Target` is the input." },
};

const startInput = `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web}
spec:
  containers:
    - name: nginx
      image: nginx:1.27
      resources: {limits: {memory: 128Mi}}
    - name: log-shipper
      image: fluent-bit:3.1
`;

const languageOf = (fragment: string): Language => fragment in languages ? fragment as Language : "cel";

export const Expressions = () => {
  const [language, setLanguage] = useState<Language>(languageOf(""));
  const [texts, setTexts] = useState<Record<Language, string>>({
    cel: languages.cel.start, jmespath: languages.jmespath.start, jsonpath: languages.jsonpath.start, gotemplate: languages.gotemplate.start,
  });
  const [input, setInput] = useState(startInput);
  const [answer, setAnswer] = useState<EvalAnswer | null>(null);
  const [failure, setFailure] = useState("");
  const expression = texts[language];
  const change = (text: string): void => setTexts({ ...texts, [language]: text });

  useEffect(() => {
    const mine = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        setAnswer(await post<EvalAnswer>("eval", { language, expression, input }, mine.signal));
        setFailure("");
      } catch (error) {
        if (!mine.signal.aborted) setFailure(messageOf(error));
      }
    };
    const timer = window.setTimeout(() => { void ask(); }, EVAL_PAUSE_MILLIS);
    return () => { window.clearTimeout(timer); mine.abort(); };
  }, [language, expression, input]);

  return (
    <main class="expressions">
      <section class="column" aria-label="Expression">
        <div class="tabs" role="radiogroup" aria-label="language">{(Object.keys(languages) as Language[]).map((one) => (
          <label key={one} class={`choice ${one === language ? "on" : ""}`}><input type="radio" name="language" checked={one === language} onChange={() => setLanguage(one)} />{languages[one].title}</label>
        ))}</div>
        <p class="tab-help">{inline(languages[language].help)}</p>
        <div class="expression"><EditorPane name={language} text={expression} label={`${languages[language].title} expression`} loaded={0} isPlain onChange={change} /></div>
        <div class="result" role="status" aria-live="polite">
          {failure !== "" && <p class="failure">{failure}</p>}
          {answer?.error && <ErrorView error={answer.error} expression={expression} />}
          {answer && !answer.error && <pre tabIndex={0} aria-label="result">{answer.result}</pre>}
        </div>
      </section>
      <section class="column" aria-label="Input">
        <div class="tabs"><span class="tab-title">input</span></div>
        <EditorPane name="input" text={input} label="input, YAML or JSON" loaded={0} onChange={setInput} />
      </section>
      <Functions language={language} use={change} />
    </main>
  );
};

/// The message, and the expression with a mark below the part that is wrong.
const ErrorView = ({ error, expression }: { error: NonNullable<EvalAnswer["error"]>; expression: string }) => {
  const line = error.line ? expression.split("\n")[error.line - 1] : undefined;
  return (
    <div class="eval-error">
      <p class="failure">{error.message}</p>
      {line !== undefined && error.column ? <pre>{line}{"\n"}{" ".repeat(Math.max(0, error.column - 1))}{"^".repeat(Math.max(1, Math.min(error.length ?? 1, line.length)))}</pre> : null}
    </div>
  );
};

const Functions = ({ language, use }: { language: Language; use: (text: string) => void }) => {
  const { value, failure } = useAnswer((signal) => get<{ functions: FunctionRow[] }>(`functions/${language}`, signal), [language]);
  const [text, setText] = useState("");
  // Those that can be tried here come first: the others need a cluster or a registry.
  const found = useMemo(() => (value?.functions.filter((row) => `${row.name} ${row.signature} ${row.description}`.toLowerCase().includes(text.toLowerCase())) ?? [])
    .sort((one, other) => Number(one.example === "") - Number(other.example === "")), [value, text]);
  return (
    <section class="column" aria-label="Functions">
      <div class="tabs"><input type="search" class="search" aria-label="search functions" placeholder="search functions" value={text} onInput={(event) => setText(event.currentTarget.value)} /></div>
      <div class="scroll">
        {!value && <Waiting failure={failure} />}
        {value && <p class="dim pad" role="status">{found.length} of {value.functions.length} functions</p>}
        <dl class="functions">{found.slice(0, MAX_ROWS).map((row, at) => (
          <div key={at}>
            <dt><code>{row.signature || row.name}</code></dt>
            <dd>{inline(row.description)}{row.example !== "" && <button class="example" title="use it" onClick={() => use(row.example)}><code>{row.example}</code>{row.result !== "" && <code class="dim"> → {row.result}</code>}</button>}</dd>
          </div>
        ))}</dl>
      </div>
    </section>
  );
};
