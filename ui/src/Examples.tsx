// The menu of examples, with a search over names, descriptions and words.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { type ExampleRow, get } from "./api";
import { Drawer } from "./Drawer";
import { Waiting, useAnswer } from "./panels";

const MAX_ROWS = 300;

export const Examples = ({ close }: { close: () => void }) => {
  const { value, failure } = useAnswer((signal) => get<{ examples: ExampleRow[] }>("examples", signal), []);
  const [text, setText] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const found = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    return (value?.examples ?? []).filter((row) => {
      const haystack = `${row.id} ${row.title} ${row.description} ${row.words}`.toLowerCase();
      return words.every((word) => haystack.includes(word));
    });
  }, [value, text]);
  // A browser would only empty the field.
  const leave = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    input.current?.closest("dialog")?.close();
  };
  const languages = [...new Set(found.map((row) => row.language))];
  return (
    <Drawer title="Examples" close={close}>
      <input ref={input} type="search" class="search" aria-label="search examples" placeholder="search, as “latest” or “sidecar”" value={text} onInput={(event) => setText(event.currentTarget.value)} onKeyDown={leave} />
      {!value && <Waiting failure={failure} />}
      <p class="dim" role="status">{value ? `${found.length} of ${value.examples.length} examples` : ""}</p>
      {languages.map((language) => (
        <section key={language}>
          <h3>{language}</h3>
          <ul class="examples">{found.filter((row) => row.language === language).slice(0, MAX_ROWS).map((row) => (
            <li key={row.id}><a href={`#e/${row.id}`} onClick={close}><strong>{row.title || row.id}</strong><span class="dim">{row.description}</span></a></li>
          ))}</ul>
        </section>
      ))}
    </Drawer>
  );
};
