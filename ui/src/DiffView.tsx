// A unified diff, line by line. The signs stay, so that colour is not needed.
const MAX_LINES = 2_000;

const kindOf = (line: string): string =>
  line.startsWith("+++") || line.startsWith("---") ? "file" : line.startsWith("@@") ? "hunk" : line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";

export const DiffView = ({ text }: { text: string }) => {
  const lines = text.replace(/\n$/, "").split("\n");
  return (
    <pre class="diff-text" tabIndex={0} aria-label="difference">
      {lines.slice(0, MAX_LINES).map((line, at) => <span key={at} class={kindOf(line)}>{line}{"\n"}</span>)}
      {lines.length > MAX_LINES && <span class="hunk">{lines.length - MAX_LINES} more lines</span>}
    </pre>
  );
};
