// A YAML editor that shows marks of the engine: diagnostics in the gutter, places of a trace, and lines that no object reached.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, foldGutter, foldKeymap, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic as EditorDiagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState, type Extension, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin, type ViewUpdate, WidgetType, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import type { Diagnostic } from "./api";

/// A line to mark: by a class, and by a note after its end.
export interface LineMark { line: number; class: string; note: string }

class NoteWidget extends WidgetType {
  constructor(readonly text: string, readonly kind: string) { super(); }
  override eq(other: NoteWidget): boolean { return other.text === this.text && other.kind === this.kind; }
  override toDOM(): HTMLElement {
    const note = document.createElement("span");
    note.className = `line-note ${this.kind}`;
    note.textContent = this.text;
    return note;
  }
  // A click on the note sets the cursor, as one beside the text does.
  override ignoreEvent(): boolean { return false; }
}

const setMarks = StateEffect.define<LineMark[]>();

const decorationsOf = (marks: LineMark[], text: Text): DecorationSet => {
  const ranges = marks.filter((mark) => mark.line >= 1 && mark.line <= text.lines).flatMap((mark) => {
    const line = text.line(mark.line);
    const whole = Decoration.line({ class: mark.class }).range(line.from);
    return mark.note === "" ? [whole] : [whole, Decoration.widget({ widget: new NoteWidget(mark.note, mark.class), side: 1 }).range(line.to)];
  });
  return Decoration.set(ranges, true);
};

const markField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update: (marks, transaction) => {
    let next = marks.map(transaction.changes);
    for (const effect of transaction.effects) if (effect.is(setMarks)) next = decorationsOf(effect.value, transaction.state.doc);
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

export const showMarks = (view: EditorView, marks: LineMark[]): void => view.dispatch({ effects: setMarks.of(marks) });

const MAX_HANGING_COLUMNS = 32;

/// A wrapped line continues below its own indentation. Classes instead of styles, because of the policy of the page.
const hangingIndent = ViewPlugin.fromClass(class {
  decorations: DecorationSet;
  constructor(view: EditorView) { this.decorations = this.visible(view); }
  update(update: ViewUpdate): void { if (update.docChanged || update.viewportChanged) this.decorations = this.visible(update.view); }
  private visible(view: EditorView): DecorationSet {
    const ranges = [];
    for (const { from, to } of view.visibleRanges) {
      for (let at = from; at <= to;) {
        const line = view.state.doc.lineAt(at);
        const columns = Math.min(MAX_HANGING_COLUMNS, /^[ -]*/.exec(line.text)![0].length + 2);
        ranges.push(Decoration.line({ class: `hang-${columns - columns % 2}` }).range(line.from));
        at = line.to + 1;
      }
    }
    return Decoration.set(ranges);
  }
}, { decorations: (plugin) => plugin.decorations });

const severities = { error: "error", warning: "warning", hint: "hint" } as const;

/// Shows diagnostics in the gutter; `explain` opens the page of a code.
export const showDiagnostics = (view: EditorView, diagnostics: Diagnostic[], explain: (code: string) => void): void => {
  const { doc } = view.state;
  const found = diagnostics.filter((one) => one.line >= 1 && one.line <= doc.lines).map((one): EditorDiagnostic => {
    const line = doc.line(one.line);
    const from = line.from + unitsBefore(line.text, one.column);
    const last = one.endLine && one.endLine <= doc.lines ? doc.line(one.endLine) : line;
    const end = one.endColumn ? last.from + unitsBefore(last.text, one.endColumn) : wordEnd(line.text, from - line.from) + line.from;
    return {
      from, to: Math.max(from, end), severity: severities[one.severity as keyof typeof severities] ?? "info", message: one.message,
      renderMessage: () => diagnosticElement(one, explain),
    };
  });
  view.dispatch(setDiagnostics(view.state, found));
};

/// The place of a column, which counts characters, in a text that counts UTF-16 units.
const unitsBefore = (line: string, column: number): number => [...line].slice(0, Math.max(0, column - 1)).join("").length;

const wordEnd = (line: string, from: number): number => {
  const rest = /^[^\s:,\]}]+/.exec(line.slice(from));
  return from + (rest ? rest[0].length : Math.min(1, line.length - from));
};

const diagnosticElement = (one: Diagnostic, explain: (code: string) => void): HTMLElement => {
  const whole = document.createElement("div");
  whole.append(one.message);
  if (one.help) {
    const help = document.createElement("p");
    help.className = "help";
    help.textContent = one.help;
    whole.append(help);
  }
  if (one.code) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "link";
    button.textContent = `explain ${one.code}`;
    button.addEventListener("click", () => explain(one.code));
    whole.append(button);
  }
  return whole;
};

export interface EditorOptions {
  label: string;
  isReadOnly?: boolean;
  isPlain?: boolean;
  onChange?: (text: string) => void;
  onCursor?: (line: number) => void;
}

const nonce = (): string => document.querySelector<HTMLMetaElement>("meta[name=style-nonce]")?.content ?? "";

// Chromium keeps the style of replaced text by a style attribute, which the policy of the page refuses. So we replace it ourselves.
const replaceBySelf = EditorView.domEventHandlers({
  beforeinput: (event, view) => {
    if (event.inputType !== "insertText" || event.data === null || event.isComposing || view.state.readOnly || view.state.selection.main.empty) return false;
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
    event.preventDefault();
    return true;
  },
});

// Tab is not bound on purpose: it leaves the editor, as everywhere on the page.
const extensions = (options: EditorOptions): Extension => [
  EditorView.cspNonce.of(nonce()),
  EditorView.lineWrapping, hangingIndent,
  options.isPlain ? [] : [lineNumbers(), foldGutter(), lintGutter(), yaml(), indentOnInput(), highlightActiveLineGutter(), highlightActiveLine()],
  history(), drawSelection(), bracketMatching(), indentUnit.of("  "), search({ top: true }), highlightSelectionMatches(),
  syntaxHighlighting(classHighlighter),
  keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...foldKeymap, ...lintKeymap]),
  markField, replaceBySelf,
  EditorState.readOnly.of(options.isReadOnly ?? false),
  EditorView.contentAttributes.of({ "aria-label": options.label, tabindex: "0", spellcheck: "false", autocorrect: "off", autocapitalize: "off" }),
  EditorView.updateListener.of((update) => {
    if (update.docChanged) options.onChange?.(update.state.doc.toString());
    if ((update.selectionSet || update.docChanged) && update.view.hasFocus) {
      options.onCursor?.(update.state.doc.lineAt(update.state.selection.main.head).number);
    }
  }),
];

export const editorState = (text: string, options: EditorOptions): EditorState =>
  EditorState.create({ doc: text, extensions: extensions(options) });

export const openEditor = (parent: HTMLElement, state: EditorState): EditorView => new EditorView({ parent, state });

/// Scrolls a line into the middle of its editor, without moving the focus, if it is not in view.
export const reveal = (view: EditorView, lineNumber: number): void => {
  if (lineNumber < 1 || lineNumber > view.state.doc.lines) return;
  const { from } = view.state.doc.line(lineNumber);
  const block = view.lineBlockAt(from);
  const { scrollTop, clientHeight } = view.scrollDOM;
  if (block.top < scrollTop + 8 || block.bottom > scrollTop + clientHeight - 24) {
    view.dispatch({ effects: EditorView.scrollIntoView(from, { y: "center" }) });
  }
};
