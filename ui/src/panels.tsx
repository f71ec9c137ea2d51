// What the buttons of the Try view open in the panel.
import { useEffect, useState } from "preact/hooks";
import { get, messageOf, post } from "./api";
import { DiffView } from "./DiffView";
import { CopyButton, Drawer, TextBlock, download } from "./Drawer";
import { Markdown } from "./Markdown";
import { edit, keepTexts, requestBody, session, unsaved } from "./session";
import { LONG_LINK_BYTES, MAX_LINK_BYTES, encode } from "./share";

export type PanelName = { kind: "explain"; code: string } | { kind: "convert" | "test" | "fix" | "json" | "diff" | "share" | "save" };

const titles = { convert: "The same rules in CEL", test: "As a test", fix: "Changes that make failing rules pass", json: "The answer as JSON", diff: "What the rules change", share: "Share", save: "Save to the project" };

export const Panel = ({ panel, close }: { panel: PanelName; close: () => void }) => (
  <Drawer title={panel.kind === "explain" ? panel.code : titles[panel.kind]} close={close}>
    {panel.kind === "explain" && <Explain code={panel.code} />}
    {panel.kind === "convert" && <Convert />}
    {panel.kind === "test" && <AsTest />}
    {panel.kind === "fix" && <Fix close={close} />}
    {panel.kind === "json" && <TextBlock name="outcome.json" type="application/json" text={JSON.stringify(session.get().answer, null, 2)} />}
    {panel.kind === "diff" && <Changes />}
    {panel.kind === "share" && <Share />}
    {panel.kind === "save" && <Save close={close} />}
  </Drawer>
);

type Loaded<T> = { value: T | null; failure: string };

/// What a request answers; asked once for each value of `of`.
export const useAnswer = <T,>(ask: (signal: AbortSignal) => Promise<T>, of: unknown[]): Loaded<T> => {
  const [loaded, setLoaded] = useState<Loaded<T>>({ value: null, failure: "" });
  useEffect(() => {
    const mine = new AbortController();
    ask(mine.signal).then((value) => setLoaded({ value, failure: "" }), (error: unknown) => { if (!mine.signal.aborted) setLoaded({ value: null, failure: messageOf(error) }); });
    return () => mine.abort();
  }, of);
  return loaded;
};

export const Waiting = ({ failure }: { failure: string }) => failure === "" ? <p class="dim" role="status">asking the engine…</p> : <p class="failure" role="alert">{failure}</p>;

const Explain = ({ code }: { code: string }) => {
  const { value, failure } = useAnswer((signal) => get<{ title: string; markdown: string }>(`explain/${encodeURIComponent(code)}`, signal), [code]);
  return value ? <Markdown text={value.markdown} /> : <Waiting failure={failure} />;
};

interface Converted { text: string; notes: string[]; proof: { cases: number; agree: number; differ: number; details: string[] } | null }

const Convert = () => {
  const { value, failure } = useAnswer((signal) => post<Converted>("convert", { ...requestBody(), to: "auto" }, signal), []);
  if (!value) return <Waiting failure={failure} />;
  const { proof } = value;
  return (
    <>
      {proof && (proof.cases === 0 ? <p>There is no object to compare the old and the new rules on.</p>
        : proof.differ === 0 ? <p class="proof good">✓ Proof: the old and the new rules agree on {proof.agree} of {proof.cases} outcomes.</p>
          : <p class="proof bad">✗ The old and the new rules differ on {proof.differ} of {proof.cases} outcomes.</p>)}
      {proof && proof.details.length > 0 && <ul>{proof.details.map((line, at) => <li key={at}>{line}</li>)}</ul>}
      {value.notes.length > 0 && <ul class="notes">{value.notes.map((note, at) => <li key={at}>{note.replace(/^note /, "")}</li>)}</ul>}
      {value.text === "" ? <p>None of these rules can be written in CEL.</p> : <TextBlock name="converted.yaml" text={value.text} />}
    </>
  );
};

const AsTest = () => {
  const { value, failure } = useAnswer((signal) => post<{ files: { name: string; text: string }[] }>("test-file", requestBody(), signal), []);
  if (!value) return <Waiting failure={failure} />;
  return (
    <>
      <p>A test of what happens now. Put the files in one folder and run <code>kubewright test</code> there.</p>
      {value.files.map((file) => <TextBlock key={file.name} name={file.name} text={file.text} />)}
    </>
  );
};

interface Edit { file: string; text: string; diff: string; title: string; rules: string[] }

const Fix = ({ close }: { close: () => void }) => {
  const { value, failure } = useAnswer((signal) => post<{ edits: Edit[] }>("fix", requestBody(), signal), []);
  if (!value) return <Waiting failure={failure} />;
  if (value.edits.length === 0) return <p>There is no change that kubewright knows for what fails here.</p>;
  const take = (one: Edit): void => {
    const role = session.get().files.find((file) => file.name === one.file)?.role ?? "objects";
    edit(one.file, role, one.text);
    close();
  };
  return (
    <>{value.edits.map((one, at) => (
      <section key={at} class="text-block">
        <div class="bar"><strong>{one.title || one.file}</strong><span class="spacer" /><button class="primary" onClick={() => take(one)}>apply to {one.file}</button></div>
        <DiffView text={one.diff} />
        {one.rules.length > 0 && <p class="dim">for {one.rules.join(", ")}</p>}
      </section>
    ))}</>
  );
};

const Changes = () => {
  const { answer } = session.get();
  const changed = answer?.objects.filter((object) => object.diff) ?? [];
  if (answer?.rendered) return <><DiffView text={answer.rendered.diff} /><TextBlock name="manifests.yaml" text={answer.rendered.manifests} /></>;
  if (changed.length === 0) return <p>No rule changes an object here.</p>;
  return (
    <>{changed.map((object, at) => (
      <section key={at}><h3>{object.kind} {[object.namespace, object.name].filter(Boolean).join("/")}</h3>
        <DiffView text={object.diff ?? ""} />{object.after ? <TextBlock name={`${object.kind}-${object.name}.yaml`.toLowerCase()} text={object.after} /> : null}</section>
    ))}</>
  );
};

export const sharedText = (): string => {
  const { title, files, request } = session.get();
  return JSON.stringify({ ...(title ? { title } : {}), files: files.filter((file) => file.text.trim() !== ""), request });
};

const Share = () => {
  const { value, failure } = useAnswer(() => encode(JSON.parse(sharedText())), []);
  if (!value) return <Waiting failure={failure} />;
  const link = `${location.origin}${location.pathname}#${value}`;
  const save = (): void => download("shared.json", sharedText(), "application/json");
  return (
    <>
      <p>The link contains the texts themselves, compressed. What follows <code>#</code> is never sent to a server.</p>
      {link.length <= MAX_LINK_BYTES && <div class="bar"><input class="link-text" aria-label="link" readOnly value={link} onFocus={(event) => event.currentTarget.select()} /><CopyButton text={link} label="copy link" /></div>}
      {link.length > MAX_LINK_BYTES && <p class="caution">⚠ These texts are too long for a link ({Math.round(link.length / 1024)} KB). Send the file instead.</p>}
      {link.length > LONG_LINK_BYTES && link.length <= MAX_LINK_BYTES && <p class="caution">⚠ The link has {Math.round(link.length / 1024)} KB. Chats may cut it; a file is safer.</p>}
      <p>As a file: <button onClick={save}>download shared.json</button>, which <code>kubewright ui shared.json</code> opens.</p>
    </>
  );
};

const hexOf = async (text: string): Promise<string> =>
  [...new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/// Lists the edited files and writes them when asked. The server refuses a file that changed on disk meanwhile.
const Save = ({ close }: { close: () => void }) => {
  const [failure, setFailure] = useState("");
  const files = unsaved(session.get());
  const save = async (): Promise<void> => {
    try {
      const { saved } = session.get();
      const body = await Promise.all(files.map(async ({ name, text }) => ({ name, text, was: await hexOf(saved.get(name) ?? "") })));
      await post("project/save", { files: body });
      session.set({ saved: new Map([...saved, ...files.map((file): [string, string] => [file.name, file.text])]), restored: [] });
      keepTexts();
      close();
    } catch (error) {
      setFailure(messageOf(error));
    }
  };
  return (
    <>
      <p>These files of the project were edited here:</p>
      <ul class="notes">{files.map((file) => <li key={file.name}>{file.name}</li>)}</ul>
      {failure !== "" && <p class="failure" role="alert">{failure}</p>}
      <div class="bar"><button class="primary" onClick={() => { void save(); }}>write {files.length === 1 ? "1 file" : `${files.length} files`}</button><button onClick={close}>cancel</button></div>
    </>
  );
};
