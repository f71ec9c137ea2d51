// One editor that shows one of several files, each with its own history.
import { EditorView } from "@codemirror/view";
import type { EditorState } from "@codemirror/state";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Diagnostic } from "./api";
import { type LineMark, editorState, reveal, showDiagnostics, showMarks } from "./editor";

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
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const states = useRef(new Map<string, EditorState>());
  const current = useRef({ name: "", loaded: -1, emitted: "" });
  const latest = useRef(props);
  latest.current = props;

  useLayoutEffect(() => {
    const fresh = (): EditorState => editorState(latest.current.text, {
      label: latest.current.label, isReadOnly: latest.current.isReadOnly ?? false, isPlain: latest.current.isPlain ?? false,
      onChange: (text) => { current.current.emitted = text; latest.current.onChange?.(text); },
      onCursor: (line) => latest.current.onCursor?.(line),
    });
    view.current ??= new EditorView({ parent: host.current!, state: fresh() });
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
  }, [props.name, props.loaded, props.text]);

  const marks = props.marks ?? noMarks;
  const diagnostics = props.diagnostics ?? noDiagnostics;
  useEffect(() => { if (view.current) showMarks(view.current, marks); }, [marks, props.name, props.loaded]);
  useEffect(() => {
    if (view.current && !props.isPlain) showDiagnostics(view.current, diagnostics, (code) => latest.current.onExplain?.(code));
  }, [diagnostics, props.name, props.loaded]);
  useEffect(() => { if (view.current && props.revealed) reveal(view.current, props.revealed); }, [props.revealed, marks, props.name, props.loaded]);
  useEffect(() => () => { view.current?.destroy(); view.current = null; }, []);

  return <div class="editor" ref={host} />;
};
