// A text with its line numbers and marked lines, to read.
export interface CodeMark { class: string; note: string }

export const CodeLines = ({ text, marks, label }: { text: string; marks: Map<number, CodeMark>; label: string }) => (
  <pre class="code-lines" tabIndex={0} aria-label={label}>
    {text.replace(/\n$/, "").split("\n").map((line, at) => {
      const mark = marks.get(at + 1);
      return <span key={at} class={`code-line ${mark?.class ?? ""}`}><span class="number">{at + 1}</span><span>{line}</span>{mark && mark.note !== "" && <span class={`line-note ${mark.class}`}>{mark.note}</span>}{"\n"}</span>;
    })}
  </pre>
);
