// The texts of the Try view and what the engine says about them: each change is judged after a pause.
import { type About, type ReviewRequest, type Role, type TextFile, type TryAnswer, messageOf, post } from "./api";
import { editsOf, keepEdits, keptEdits, withEdits } from "./edits";
import { Store } from "./store";

export const JUDGE_PAUSE_MILLIS = 150;
const DRAFT_KEY = "kubewright.draft";
const MAX_DRAFT_CHARACTERS = 1_000_000;

/// A part of a rule and a part of an object that belong together.
export interface PlacePair {
  ruleFile: string | null; ruleLine: number | null;
  objectFile: string | null; objectLine: number | null;
  what: string; found: string; wanted: string;
  ruleNote: string; objectNote: string;
}

export interface Session {
  about: About | null;
  title: string;
  /// The texts of the files of the project as they are on disk.
  saved: Map<string, string>;
  /// The folder of the project whose files are shown; empty for anything else.
  folder: string;
  /// The files whose edits were kept over a reload.
  restored: string[];
  /// Whether a reload would lose edits.
  isAtRisk: boolean;
  files: TextFile[];
  request: ReviewRequest;
  /// Counts up when all texts are replaced, so that editors load them again.
  loaded: number;
  answer: TryAnswer | null;
  /// How many answers have been shown.
  judged: number;
  isPending: boolean;
  failure: string;
  cause: PlacePair | null;
  pointed: PlacePair | null;
  /// The line of a rule that has the cursor.
  cursor: { file: string; line: number } | null;
}

export const session = new Store<Session>({
  about: null, title: "", saved: new Map(), folder: "", restored: [], isAtRisk: false, files: [], request: {}, loaded: 0, answer: null, judged: 0,
  isPending: false, failure: "", cause: null, pointed: null, cursor: null,
});

const emptyNames: Record<Role, string> = {
  rules: "rules.yaml", objects: "objects.yaml", exceptions: "exceptions.yaml", world: "world.yaml", old: "old.yaml",
  parameters: "parameters.yaml", user: "user.yaml",
};

/// The files of a role; one that is empty if there is none, because its tab is shown anyway.
export const filesOf = (files: TextFile[], role: Role): TextFile[] => {
  const found = files.filter((file) => file.role === role);
  return found.length > 0 ? found : [{ name: emptyNames[role], role, text: "" }];
};

export const textOf = (files: TextFile[], name: string): string => files.find((file) => file.name === name)?.text ?? "";

/// The files of the project that were edited.
export const unsaved = ({ files, saved }: Session): TextFile[] => files.filter((file) => saved.has(file.name) && saved.get(file.name) !== file.text);

const MAX_FIRST_WAIT_MILLIS = 300;
let tellFirst: () => void;
/// Done when the first answer has been drawn, or after a while if it is late.
export const judgedOnce = new Promise<void>((done) => { tellFirst = done; window.setTimeout(done, MAX_FIRST_WAIT_MILLIS); });

let timer = 0;
let running: AbortController | null = null;

/// Replaces the text of one file and judges everything after a pause.
export const edit = (name: string, role: Role, text: string): void => {
  const { files } = session.get();
  const known = files.some((file) => file.name === name);
  const next = known ? files.map((file) => (file.name === name ? { ...file, text } : file)) : [...files, { name, role, text }];
  session.set({ files: next });
  judgeSoon();
};

export const changeRequest = (change: ReviewRequest): void => {
  session.set({ request: { ...session.get().request, ...change } });
  judgeSoon();
};

/// Replaces everything, as an example or a link does, and judges at once unless the answer is known.
export const load = (title: string, files: TextFile[], request: ReviewRequest = {}, known: TryAnswer | null = null): void => {
  const { loaded } = session.get();
  session.set({ title, files, request, folder: "", restored: [], isAtRisk: false, loaded: loaded + 1, answer: null, cause: null, pointed: null, cursor: null, failure: "" });
  if (known) show(known);
  else void judge();
};

/// Shows the files of a project, with the edits that were made before a reload.
export const openProject = (name: string, folder: string, read: TextFile[]): void => {
  const edits = keptEdits(folder);
  const { files, saved } = withEdits(read, edits);
  load(name, files);
  session.set({ saved, folder, restored: edits.map((edit) => edit.name) });
};

const judgeSoon = (): void => {
  window.clearTimeout(timer);
  timer = window.setTimeout(() => { void judge(); }, JUDGE_PAUSE_MILLIS);
};

/// What a request of the API about the texts contains.
export const requestBody = (): { files: TextFile[]; request: ReviewRequest } => {
  const { files, request } = session.get();
  return { files: files.filter((file) => file.text.trim() !== ""), request };
};

export const judge = async (): Promise<void> => {
  window.clearTimeout(timer);
  running?.abort();
  const mine = new AbortController();
  running = mine;
  session.set({ isPending: true });
  try {
    const answer = await post<TryAnswer>("try", requestBody(), mine.signal);
    if (running === mine) show(answer);
  } catch (error) {
    if (running === mine) session.set({ isPending: false, failure: messageOf(error), judged: session.get().judged + 1 });
  }
  keepTexts();
};

const show = (answer: TryAnswer): void => {
  session.set({ answer, judged: session.get().judged + 1, isPending: false, failure: "", cause: null, pointed: null });
  requestAnimationFrame(() => { window.setTimeout(tellFirst); });
};

/// Keeps the texts in the tab: all of them, or the edits of a project.
export const keepTexts = (): void => {
  const { title, files, request, folder, saved } = session.get();
  if (folder !== "") return session.set({ isAtRisk: !keepEdits(folder, editsOf(files, saved)) });
  const draft = JSON.stringify({ title, files, request });
  try {
    if (draft.length <= MAX_DRAFT_CHARACTERS) sessionStorage.setItem(DRAFT_KEY, draft);
    else sessionStorage.removeItem(DRAFT_KEY);
  } catch {
    // A browser may refuse storage; the page works without a draft.
  }
};

/// The texts of this tab before it was reloaded.
export const keptDraft = (): unknown => {
  try {
    return JSON.parse(sessionStorage.getItem(DRAFT_KEY) ?? "null");
  } catch {
    return null;
  }
};
