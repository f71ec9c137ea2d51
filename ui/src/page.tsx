// The frame of the page: tabs, the theme, and what a link asks for.
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { type About, type Example, type Start, type TextFile, get, messageOf } from "./api";
import { Coverage } from "./Coverage";
import { Examples } from "./Examples";
import { Expressions } from "./Expressions";
import { Graph } from "./Graph";
import { Impact } from "./Impact";
import { Panel, type PanelName } from "./panels";
import { Reports } from "./Reports";
import { Try } from "./Try";
import { keepEdits } from "./edits";
import { keepTexts, keptDraft, load, openProject, session, unsaved } from "./session";
import { checked, decode } from "./share";
import { useStore } from "./store";
import "./style.css";
import "../../crates/draw/src/picture.css";

type View = "reports" | "try" | "impact" | "expressions" | "graph" | "coverage";
const words: Record<View, string> = { reports: "Reports", try: "Try", impact: "Impact", expressions: "Expressions", graph: "Graph", coverage: "Coverage" };

const isOffered: Record<View, (features: About["features"]) => boolean | undefined> = {
  reports: (features) => features.reports, try: (features) => features.try !== false, impact: (features) => features.impact,
  expressions: (features) => features.try !== false, graph: (features) => features.graph, coverage: (features) => features.tests,
};

/// The view that a fragment names; without one, Reports in a cluster and Try elsewhere.
const viewOf = (fragment: string, about: About | null): View =>
  fragment in words ? fragment as View : fragment === "" && about?.mode === "cluster" && about.features.reports ? "reports" : "try";

const Page = () => {
  const about = useStore(session, (value) => value.about);
  const title = useStore(session, (value) => value.title);
  const changed = useStore(session, (value) => unsaved(value).length);
  const [fragment, setFragment] = useState(location.hash.slice(1));
  const view = viewOf(fragment, about);
  const [panel, setPanel] = useState<PanelName | null>(null);
  const [isMenuOpen, setIsMenuOpen] = useState(false);
  useEffect(() => {
    const follow = (): void => { setFragment(location.hash.slice(1)); void openFragment(location.hash.slice(1)); };
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  const features = about?.features ?? { try: true };
  const views = (Object.keys(words) as View[]).filter((one) => isOffered[one](features));
  return (
    <>
      <header class="top">
        <a class="brand" href="#try"><span class="mark" aria-hidden="true">k</span>kubewright</a>
        <nav aria-label="views">{views.map((one) => <a key={one} href={`#${one}`} {...(one === view ? { "aria-current": "page" as const } : {})}>{words[one]}</a>)}</nav>
        <span class="title">{view === "try" ? title : ""}</span>
        <span class="spacer" />
        {view === "try" && <button onClick={() => setIsMenuOpen(true)}>examples</button>}
        {view === "try" && features.save && <button class="primary" disabled={changed === 0} onClick={() => setPanel({ kind: "save" })}>{changed === 0 ? "saved" : `save ${changed}`}</button>}
        {view === "try" && <button onClick={() => setPanel({ kind: "share" })}>share</button>}
        <ThemeButton />
      </header>
      {view === "try" && <KeptEdits />}
      {view === "try" && <Try openPanel={setPanel} />}
      {view === "expressions" && <Expressions />}
      {view === "graph" && <Graph />}
      {view === "reports" && <Reports />}
      {view === "impact" && <Impact />}
      {view === "coverage" && <Coverage />}
      {isMenuOpen && <Examples close={() => setIsMenuOpen(false)} />}
      {panel && <Panel panel={panel} close={() => setPanel(null)} />}
    </>
  );
};

/// Says that edits were kept over a reload, and offers to drop them.
const KeptEdits = () => {
  const restored = useStore(session, (value) => value.restored);
  const isAtRisk = useStore(session, (value) => value.isAtRisk);
  if (restored.length === 0 && !isAtRisk) return null;
  return (
    <p class="notice" role="status">
      {isAtRisk && <span class="caution">⚠ These edits are too long to be kept over a reload.</span>}
      {restored.length > 0 && <span>Edits that are not on disk were kept over the reload: {restored.join(", ")}</span>}
      {restored.length > 0 && <button onClick={() => { void dropEdits(); }}>drop the edits</button>}
      {restored.length > 0 && <button onClick={() => session.set({ restored: [] })}>keep them</button>}
    </p>
  );
};

const MAX_BLANK_MILLIS = 30;
const THEME_KEY = "kubewright.theme";

const ThemeButton = () => {
  const system = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? system);
  const change = (): void => {
    const next = theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try { sessionStorage.setItem(THEME_KEY, next); } catch { /* The theme is then that of the system after a reload. */ }
    setTheme(next);
  };
  return <button class="quiet" aria-label={theme === "dark" ? "light colours" : "dark colours"} title="light or dark" onClick={change}>◐</button>;
};

/// Loads what a link names: an example, or texts.
const openFragment = async (fragment: string): Promise<boolean> => {
  try {
    if (fragment.startsWith("e/")) {
      const example = await get<Example>(`examples/${fragment.slice(2).split("/").map(encodeURIComponent).join("/")}`);
      load(example.title || example.id, example.files, example.request ?? {});
      return true;
    }
    if (/^\d+\./.test(fragment)) {
      const shared = await decode(fragment);
      load(shared.title ?? "shared", shared.files, shared.request);
      return true;
    }
  } catch (error) {
    session.set({ failure: messageOf(error), judged: session.get().judged + 1 });
    return true;
  }
  return false;
};

const readProject = async (about: About): Promise<void> => {
  const project = await get<{ name: string; files: TextFile[] }>("project");
  openProject(project.name, about.project?.folder ?? "", project.files);
};

const dropEdits = async (): Promise<void> => {
  const { about, folder } = session.get();
  if (!about) return;
  keepEdits(folder, []);
  await readProject(about).catch((error: unknown) => session.set({ failure: messageOf(error) }));
};

const openFirst = async (start: Start): Promise<void> => {
  const { about, files } = start;
  // In the controller nothing is judged but what is in the cluster.
  if (about.features.try === false) return;
  if (await openFragment(location.hash.slice(1))) return;
  if (about.features.project) return openProject(start.title, about.project?.folder ?? "", files);
  if (about.features.shared) {
    const shared = checked(start);
    return load(shared.title ?? "", shared.files, shared.request, start.answer);
  }
  const draft = keptDraft();
  const kept = draft ? checked(draft) : null;
  if (kept) load(kept.title ?? "", kept.files, kept.request);
  else load("", files, {}, start.answer);
};

/// What the server wrote into the page; where that has no room or failed, it is asked for.
const writtenStart = (): Start | null => JSON.parse(document.getElementById("start")?.textContent || "null") as Start | null;

const open = async (): Promise<void> => {
  try {
    const start = writtenStart() ?? await get<Start>("start");
    session.set({ about: start.about });
    await openFirst(start);
  } catch (error) {
    session.set({ failure: messageOf(error), judged: session.get().judged + 1 });
  }
};

// What was typed within the last pause is kept, too.
window.addEventListener("pagehide", keepTexts);
// A browser asks before it leaves a page whose edits would be lost.
window.addEventListener("beforeunload", (event) => { if (session.get().isAtRisk) event.preventDefault(); });
try {
  const theme = sessionStorage.getItem(THEME_KEY);
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch { /* The theme is that of the system. */ }
// The answer mostly stands in the page. Then it is drawn once, and otherwise without an answer first.
const opened = open();
await Promise.race([opened, new Promise((done) => { window.setTimeout(done, MAX_BLANK_MILLIS); })]);
const page = document.getElementById("page")!;
page.replaceChildren();
render(<Page />, page);
