// The Markdown of our own pages as elements: headings, paragraphs, lists, tables, code.
import type { ComponentChildren } from "preact";

export const inline = (text: string): ComponentChildren[] =>
  text.split(/(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)]+\))/).map((part, at) => {
    if (part.startsWith("`") && part.length > 1) return <code key={at}>{part.slice(1, -1)}</code>;
    if (part.startsWith("**")) return <strong key={at}>{part.slice(2, -2)}</strong>;
    // Links lead to files of the repository, which the page does not have.
    return part.startsWith("[") && part.includes("](") ? part.slice(1, part.indexOf("](")) : part;
  });

const cells = (line: string): string[] => line.replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

const block = (text: string, at: number): ComponentChildren => {
  const heading = /^(#{1,6}) (.*)$/.exec(text);
  if (heading) return heading[1]!.length === 1 ? <h3 key={at}>{inline(heading[2]!)}</h3> : <h4 key={at}>{inline(heading[2]!)}</h4>;
  const lines = text.split("\n");
  if (lines.every((line) => /^([-*]|\d+\.|\s{2,}) ?/.test(line)) && /^([-*]|\d+\.) /.test(text)) {
    return <ul key={at}>{text.split(/\n(?=[-*] |\d+\. )/).map((item, place) => <li key={place}>{inline(item.replace(/^([-*]|\d+\.) /, "").replaceAll("\n", " "))}</li>)}</ul>;
  }
  if (lines.length > 1 && text.startsWith("|")) {
    const [head, , ...rows] = lines.map(cells);
    return <table key={at}><thead><tr>{head!.map((cell, place) => <th key={place}>{inline(cell)}</th>)}</tr></thead>
      <tbody>{rows.map((row, place) => <tr key={place}>{row.map((cell, column) => <td key={column}>{inline(cell)}</td>)}</tr>)}</tbody></table>;
  }
  return <p key={at}>{inline(lines.join(" "))}</p>;
};

export const Markdown = ({ text }: { text: string }) => {
  // Every second part is what stood between fences.
  const parts = text.split(/^```.*$/m);
  return (
    <div class="markdown">
      {parts.map((part, at) => at % 2 === 1
        ? <pre key={at} tabIndex={0}>{part.replace(/^\n|\n$/g, "")}</pre>
        : part.replace(/^(#.*)$/gm, "\n$1\n").split(/\n\s*\n/).map((one) => one.trim()).filter(Boolean).map(block))}
    </div>
  );
};
