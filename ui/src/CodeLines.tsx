// A text with its line numbers and marked lines, to read.
import { useLayoutEffect, useRef } from "preact/hooks";

export interface CodeMark { class: string; note: string }

/// The first line that is to be seen is this far below the top.
const ABOVE_PIXELS = 60;

export const CodeLines = ({ text, marks, label }: { text: string; marks: Map<number, CodeMark>; label: string }) => {
  const box = useRef<HTMLPreElement>(null);
  const first = Math.min(...[...marks].filter(([, mark]) => mark.class !== "line-reached").map(([line]) => line));
  useLayoutEffect(() => {
    const line = Number.isFinite(first) ? box.current?.children[first - 1] : null;
    if (box.current && line) box.current.scrollTop += line.getBoundingClientRect().top - box.current.getBoundingClientRect().top - ABOVE_PIXELS;
  }, [first, text]);
  return (
    <pre class="code-lines" tabIndex={0} aria-label={label} ref={box}>
      {text.replace(/\n$/, "").split("\n").map((line, at) => {
        const mark = marks.get(at + 1);
        return <span key={at} class={`code-line ${mark?.class ?? ""}`}><span class="number">{at + 1}</span><span>{line}</span>{mark && mark.note !== "" && <span class={`line-note ${mark.class}`}>{mark.note}</span>}{"\n"}</span>;
      })}
    </pre>
  );
};
