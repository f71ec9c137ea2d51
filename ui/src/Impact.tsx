// What an edited rule would newly refuse, warn of or change in the cluster, by namespace and owner.
import { useMemo, useState } from "preact/hooks";
import { messageOf, post } from "./api";
import { EditorPane } from "./EditorPane";
import { edit, filesOf, session } from "./session";
import { useStore } from "./store";

interface ImpactRow { kind: string; namespace: string; name: string; place: string; owner: string; change: string; rules: { rule: string; message: string }[] }
interface ImpactAnswer { impacts: ImpactRow[]; summary: { objects: number; refused: number; warned: number; patched: number; released: number } }

const MAX_ROWS = 500;
const changeGlyphs: Record<string, string> = { refused: "✗", warned: "⚠", patched: "~", released: "✓" };
const changeStyles: Record<string, string> = { refused: "fail", warned: "warn", patched: "patched", released: "pass" };

export const Impact = () => {
  const files = useStore(session, (value) => value.files);
  const file = filesOf(files, "rules")[0]!;
  const [answer, setAnswer] = useState<ImpactAnswer | null>(null);
  const [failure, setFailure] = useState("");
  const [isRunning, setIsRunning] = useState(false);
  const run = async (): Promise<void> => {
    setIsRunning(true);
    try {
      setAnswer(await post<ImpactAnswer>("impact", { files: filesOf(session.get().files, "rules") }));
      setFailure("");
    } catch (error) {
      setFailure(messageOf(error));
    }
    setIsRunning(false);
  };
  return (
    <main class="impact">
      <section class="column" aria-label="Rules"><div class="tabs"><span class="tab-title">{file.name}</span></div>
        <EditorPane name={file.name} text={file.text} label={`rules: ${file.name}`} loaded={0} onChange={(text) => edit(file.name, "rules", text)} /></section>
      <section class="column" aria-label="Impact">
        <div class="bar pad"><button class="primary" disabled={isRunning} onClick={() => { void run(); }}>{isRunning ? "judging the cluster…" : "what would change in the cluster"}</button></div>
        <div class="scroll" role="status" aria-live="polite">
          {failure !== "" && <p class="failure">{failure}</p>}
          {answer && <ImpactResult answer={answer} />}
          {!answer && failure === "" && <p class="empty">Judges every object of the cluster by these rules, and lists what would newly be refused, warned of or changed. Nothing is written to the cluster.</p>}
        </div>
      </section>
    </main>
  );
};

const ImpactResult = ({ answer }: { answer: ImpactAnswer }) => {
  const { summary } = answer;
  const groups = useMemo(() => {
    const found = new Map<string, ImpactRow[]>();
    for (const row of answer.impacts) {
      const key = [row.namespace || "(cluster)", row.owner].join(" · ");
      found.set(key, [...found.get(key) ?? [], row]);
    }
    return [...found];
  }, [answer]);
  return (
    <>
      <p class="pad"><strong>{summary.objects} objects:</strong> {summary.refused} newly refused, {summary.warned} newly warned of, {summary.patched} newly changed, {summary.released} no longer refused</p>
      {groups.slice(0, MAX_ROWS).map(([key, rows]) => (
        <section key={key} class="group"><h3>{key}</h3>
          <ul class="rows">{rows.map((row, at) => (
            <li key={at} class={`row s-${changeStyles[row.change] ?? "skip"}`}><span class="glyph" role="img" aria-label={row.change}>{changeGlyphs[row.change] ?? "·"}</span>
              <div><p class="reason">{row.kind} {row.name} {row.change}</p>{row.rules.map((rule, place) => <p key={place} class="rule">{rule.rule} {rule.message}</p>)}</div></li>
          ))}</ul>
        </section>
      ))}
      {groups.length > MAX_ROWS && <p class="dim pad">{groups.length - MAX_ROWS} more owners</p>}
    </>
  );
};
