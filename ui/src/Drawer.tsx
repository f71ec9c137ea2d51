// A panel at the side for what is asked for now and then: an explanation, a converted rule, a link. Escape closes it.
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export const Drawer = ({ title, close, children }: { title: string; close: () => void; children: ComponentChildren }) => {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => { if (!dialog.current?.open) dialog.current?.showModal(); }, []);
  return (
    <dialog class="drawer" ref={dialog} aria-label={title} onClose={close} onClick={(event) => { if (event.target === dialog.current) dialog.current?.close(); }}>
      <header><h2>{title}</h2><button class="quiet" aria-label="close" onClick={() => dialog.current?.close()}>✕</button></header>
      <div class="content">{children}</div>
    </dialog>
  );
};

/// A text to read, copy or download.
export const TextBlock = ({ name, text, type = "text/yaml" }: { name: string; text: string; type?: string }) => (
  <section class="text-block">
    <div class="bar"><strong>{name}</strong><span class="spacer" /><CopyButton text={text} /><button onClick={() => download(name, text, type)}>download</button></div>
    <pre tabIndex={0} aria-label={name}>{text}</pre>
  </section>
);

export const CopyButton = ({ text, label = "copy" }: { text: string; label?: string }) => {
  const [isDone, setIsDone] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setIsDone(true);
      window.setTimeout(() => setIsDone(false), 1500);
    } catch {
      setIsDone(false);
    }
  };
  return <button onClick={() => { void copy(); }}>{isDone ? "copied" : label}</button>;
};

export const download = (name: string, content: string | Blob, type = "text/plain"): void => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name.split("/").pop() ?? name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
};
