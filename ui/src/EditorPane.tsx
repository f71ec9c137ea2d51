// One editor that shows one of several files, each with its own history.
//
// The code of editors is most of the page, and a script of its own: the first outcome does not wait for it. Until it is there, the
// text is shown as it is.
import type { EditorView } from "@codemirror/view";
import type { EditorState } from "@codemirror/state";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Diagnostic } from "./api";
import type { LineMark } from "./editor";
import { judgedOnce } from "./session";

type EditorCode = typeof import("./editor");

let loadedCode: EditorCode | null = null;

const loadCode = async (): Promise<void> => {
  // Running the code of editors takes longer than judging.
  await judgedOnce;
  loadedCode = await import("./editor");
};

/// The code of editors, once it is there, and why it cannot be had.
const useEditorCode = (): { code: EditorCode | null; failure: string } => {
  const [, setIsLoaded] = useState(loadedCode !== null);
  const [failure, setFailure] = useState("");
  useEffect(() => {
    if (!loadedCode) loadCode().then(() => setIsLoaded(true), () => setFailure("the editor could not be loaded; is kubewright ui still running?"));
  }, []);
  return { code: loadedCode, failure };
};

export interface EditorPaneProps {
  name: string;
  text: string;
  label: string;
  /// Another number drops the histories of all files.
  loaded: number;
  isReadOnly?: boolean;
  isPlain?: boolean;
  marks?: LineMark[];
  diagnostics?: Diagnostic[];
  revealed?: number;
  onChange?: (text: string) => void;
  onCursor?: (line: number) => void;
  onExplain?: (code: string) => void;
}

const noMarks: LineMark[] = [];
const noDiagnostics: Diagnostic[] = [];

export const EditorPane = (props: EditorPaneProps) => {
  const { code, failure } = useEditorCode();
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const states = useRef(new Map<string, EditorState>());
  const current = useRef({ name: "", loaded: -1, emitted: "" });
  const latest = useRef(props);
  latest.current = props;

  useLayoutEffect(() => {
    if (!code) return;
    const fresh = (): EditorState => code.editorState(latest.current.text, {
      label: latest.current.label, isReadOnly: latest.current.isReadOnly ?? false, isPlain: latest.current.isPlain ?? false,
      onChange: (text) => { current.current.emitted = text; latest.current.onChange?.(text); },
      onCursor: (line) => latest.current.onCursor?.(line),
    });
    if (!view.current) {
      view.current = code.openEditor(host.current!, fresh());
      // For measurements: when the first editor can be used.
      performance.mark("editor-shown");
    }
    const { name, loaded } = current.current;
    if (loaded !== props.loaded) states.current.clear();
    else if (name !== props.name) states.current.set(name, view.current.state);
    if (loaded !== props.loaded || name !== props.name) {
      view.current.setState(states.current.get(props.name) ?? fresh());
      current.current = { name: props.name, loaded: props.loaded, emitted: view.current.state.doc.toString() };
    }
    if (props.text !== current.current.emitted) {
      current.current.emitted = props.text;
      view.current.dispatch({ changes: { from: 0, to: view.current.state.doc.length, insert: props.text } });
    }
  }, [code, props.name, props.loaded, props.text]);

  const marks = props.marks ?? noMarks;
  const diagnostics = props.diagnostics ?? noDiagnostics;
  useEffect(() => { if (view.current) code?.showMarks(view.current, marks); }, [code, marks, props.name, props.loaded]);
  useEffect(() => {
    if (view.current && !props.isPlain) code?.showDiagnostics(view.current, diagnostics, (code) => latest.current.onExplain?.(code));
  }, [code, diagnostics, props.name, props.loaded]);
  useEffect(() => { if (view.current && props.revealed) code?.reveal(view.current, props.revealed); }, [code, props.revealed, marks, props.name, props.loaded]);
  useEffect(() => () => { view.current?.destroy(); view.current = null; }, []);

  return (
    <>
      {failure !== "" && <p class="failure" role="alert">{failure}</p>}
      {!code && <pre class="editor-text" tabIndex={0} aria-label={props.label}>{props.text}</pre>}
      <div class="editor" ref={host} hidden={!code} />
    </>
  );
};
