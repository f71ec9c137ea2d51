// Edits of a project that are not on disk: kept in the tab over a reload, and gone when it is closed.
import type { Role, TextFile } from "./api";

const EDITS_KEY = "kubewright.edits";
const MAX_KEPT_CHARACTERS = 1_000_000;

/// An edited text. `base` is what was on disk when it was edited; null for a file that is not there.
export interface Edit { name: string; role: Role; text: string; base: string | null }

export const editsOf = (files: TextFile[], saved: Map<string, string>): Edit[] =>
  files.filter((file) => saved.get(file.name) !== file.text && (saved.has(file.name) || file.text.trim() !== ""))
    .map(({ name, role, text }) => ({ name, role, text, base: saved.get(name) ?? null }));

/// Returns whether the edits of the project in `folder` are kept: a browser may refuse, and so much is not kept.
export const keepEdits = (folder: string, edits: Edit[]): boolean => {
  const kept = JSON.stringify({ folder, edits });
  try {
    sessionStorage.removeItem(EDITS_KEY);
    if (kept.length > MAX_KEPT_CHARACTERS) return false;
    if (edits.length > 0) sessionStorage.setItem(EDITS_KEY, kept);
    return true;
  } catch {
    return edits.length === 0;
  }
};

export const keptEdits = (folder: string): Edit[] => {
  try {
    const kept = JSON.parse(sessionStorage.getItem(EDITS_KEY) ?? "null") as { folder: string; edits: Edit[] } | null;
    return kept?.folder === folder ? kept.edits : [];
  } catch {
    return [];
  }
};

/// The files of a project with edits, and what was on disk when each was edited, so that a file that changed since is not saved.
export const withEdits = (files: TextFile[], edits: Edit[]): { files: TextFile[]; saved: Map<string, string> } => {
  const editOf = (name: string): Edit | undefined => edits.find((edit) => edit.name === name);
  const known = new Set(files.map((file) => file.name));
  const added = edits.filter((edit) => !known.has(edit.name)).map(({ name, role, text }): TextFile => ({ name, role, text }));
  return {
    files: [...files.map((file) => ({ ...file, text: editOf(file.name)?.text ?? file.text })), ...added],
    saved: new Map(files.map((file) => [file.name, editOf(file.name)?.base ?? file.text])),
  };
};
